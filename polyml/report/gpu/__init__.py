"""Reports on one call of a kernel on a GPU, in the source's order and in polyml's: its threads, what their requests move, and the
roof that bounds it.
"""
