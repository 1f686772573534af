"""A kernel as a library for C: an object, a shared library and a header, and how Python loads one without a compiler."""
