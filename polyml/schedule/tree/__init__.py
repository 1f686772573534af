"""Schedule trees as values: bands, text, directives on loops, and the loops with names that scripts address."""
