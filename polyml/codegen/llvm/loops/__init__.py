"""Loops -> blocks, tests and phis: bounds, one counted loop, and what loops that follow one another hand on.

The door is `counted_loop.emit`.
"""
