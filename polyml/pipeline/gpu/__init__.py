"""A kernel for a GPU in place of the processor. The door is `compile.compile_for_gpu`."""
