"""The text of loops that the threads of a block run together. The doors are `fragment_loops` and `pipelined_loops`."""
