"""Program -> LLVM text: `builder` prints functions, `addresses`, `element_access` and `function` are the code of one, `ssa_value`,
`arithmetic` and `numpy_functions` its values. The door is `emit.emit`.
"""
