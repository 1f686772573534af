"""isl's scheduler options, which live on its context: set for one computation, restored after it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from polyml.polyhedra import CONTEXT

_DEFAULTS = {
    "schedule_serialize_sccs": 0,
    "schedule_whole_component": 0,
    "schedule_maximize_coincidence": 0,
    "schedule_outer_coincidence": 0,
    "schedule_maximize_band_depth": 0,
    "schedule_max_coefficient": -1,
    "schedule_max_constant_term": -1,
    "schedule_treat_coalescing": 1,
    "tile_scale_tile_loops": 1,
    "tile_shift_point_loops": 1,
}


@contextmanager
def isl_options(**settings: int) -> Iterator[None]:
    """Sets options of isl's scheduler inside a `with` block, all others to isl's defaults, and restores them after it.

    Raises ValueError for an option that polyml does not know.
    """
    unknown = settings.keys() - _DEFAULTS.keys()
    if unknown:
        raise ValueError(f"no such isl option: {', '.join(sorted(unknown))}")
    before = {name: getattr(CONTEXT, f"get_{name}")() for name in _DEFAULTS}
    try:
        for name, value in {**_DEFAULTS, **settings}.items():
            getattr(CONTEXT, f"set_{name}")(value)
        yield
    finally:
        for name, value in before.items():
            getattr(CONTEXT, f"set_{name}")(value)
