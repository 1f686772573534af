"""Loops that the threads of a block run together, from shared memory. The door is `shared_work.shared_work`."""
