"""Programs in which data decide bounds, conditions and subscripts, compared with plain Python: results, arguments, exceptions."""
