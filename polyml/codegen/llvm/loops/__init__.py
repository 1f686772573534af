"""Loops become basic blocks, tests and phis: their bounds, one counted loop, and what loops hand over to the next one. The door
is `counted_loop.emit`.
"""
