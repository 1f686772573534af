"""A call: arguments made exact, guards of captured values, the native entry and the one in Python, results, and errors of bounds
that do not hold. The door is `entry.bind`.
"""
