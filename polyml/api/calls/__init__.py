"""What a call goes through: the forms compiled for its types and sizes, the lifted parts of a function that is not compiled as a
whole, and calls that run as plain Python. The doors are `specialisation.Specialisation` and `plain_calls.refusals`.
"""
