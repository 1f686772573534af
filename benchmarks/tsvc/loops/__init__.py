"""The 151 loops of TSVC, by what they are in the suite for."""

from benchmarks.tsvc.entry import entries
from benchmarks.tsvc.loops import (
    conditions,
    control,
    dependences,
    expansion,
    index_sets,
    inductions,
    language,
    reductions,
    restructuring,
    searching,
)

_MODULES = (dependences, inductions, restructuring, expansion, conditions, index_sets, reductions, searching, language, control)
LOOPS = {loop.name: loop for module in _MODULES for loop in entries(vars(module))}
