"""Index arrays: where the subscripts of a region come from, and what is known of the arrays that they come from."""
