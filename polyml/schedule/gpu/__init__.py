"""Loops that go to the blocks and threads of a GPU, by exact dependences."""
