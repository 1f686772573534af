"""A stage runs alone, from a file with the text of a kernel, a SCoP or a program. The door is `resume.resumed`."""
