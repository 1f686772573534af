"""Documents are true: their blocks run, their links lead somewhere, their maps are those of the tree."""
