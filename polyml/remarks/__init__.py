"""What was done to each loop of a kernel's source and what was not, and why: `collect.remarks`, and their text, JSON, HTML and the
formats of editors.
"""
