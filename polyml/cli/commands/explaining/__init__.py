"""`polyml explain`: what was done to a kernel, in the forms that people, editors and programs read."""
