"""One call of a kernel in several orders, and what each does to the machine.

`values` are what is known; `text`, `data`, `html` and `charts` show it; `report.report` joins them.
"""
