"""One call of a kernel on a GPU, in the source's order and in polyml's: what threads run it, what their requests move, which
roof bounds it.
"""
