"""A Program becomes LLVM text; the door is `emit.emit`.

`builder` prints functions. `addresses`, `element_access` and `function` emit the code of one function, layer by layer: integers
and pointers, elements in registers or memory, and the nodes of the program. `ssa_value`, `arithmetic` and `numpy_functions` are
its values and operations.
"""
