"""What the PEs of an array do, cycle by cycle, as a value and as text. Begin with `program.NestProgram`."""
