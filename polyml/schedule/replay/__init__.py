"""A schedule as the steps that lead to it from the source's order: `decompose.steps_to`."""
