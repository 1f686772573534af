"""A mapping in pictures: the array in a cycle, wavefronts, utilisation, space and time, and a page that steps through the cycles.
Begin with `collection.pictures` and `page.page`.
"""
