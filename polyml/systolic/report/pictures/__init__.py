"""A mapping onto a systolic array in pictures: the array in a cycle, wavefronts, utilisation, space and time; and as a page."""
