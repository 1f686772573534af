"""Program -> LLVM text: `builder` prints functions, `addresses`, `element_access` and `function` are the code of one, `statements` and
`arithmetic` its values. The door is `emit.emit`.
"""
