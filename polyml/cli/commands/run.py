"""`polyml run`: one kernel on random arguments."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import click

from polyml import config
from polyml.api.target import Target as PolymlTarget
from polyml.cli.inputs import output
from polyml.cli.inputs.arguments import Call, call_arguments
from polyml.cli.inputs.kernel_file import Target, load_target
from polyml.errors import PolymlError


@dataclass(frozen=True)
class Result:
    """first_s: the first call, with compilation. fastest_s: of the later ones, None if there were none.

    compiled: whether machine code ran, or what the kernel was simulated on. changed: array arguments after the call. returned: what the call gave.
    """

    first_s: float
    fastest_s: float | None
    compiled: object
    changed: Mapping[str, object]
    returned: object


def run(spec: str, define: Sequence[str], args: Sequence[str], preset: str | None, repeat: int, seed: int,
        load: str | None, options: Mapping[str, object], as_json: bool) -> None:  # fmt: skip
    """Call the kernel once, then `repeat` times on the same values, and print the results of the first call. load: the file of
    a schedule to run with.
    """
    target = load_target(spec)
    call = call_arguments(target, define, args, preset, seed)
    with config.scope(**options):
        result = _timed(target, call, repeat, load)
    if as_json:
        output.as_json(_data(target, call, result))
        return
    for line in call.said:
        click.echo(line, err=True)
    rows = [(name, output.described(value), True) for name, value in result.changed.items()]
    if result.returned is not None:
        rows.append(("returned", _returned(result.returned), True))
    rows.append(("first call", f"{result.first_s * 1e3:.3g} ms", True))
    if result.fastest_s is not None:
        rows.append((f"best of {repeat}", f"{result.fastest_s * 1e3:.3g} ms", True))
    rows.append(("runs on" if isinstance(result.compiled, PolymlTarget) else "compiled", str(result.compiled), True))
    output.pairs(rows)


def _timed(target: Target, call: Call, repeat: int, load: str | None) -> Result:
    from polyml.api import kernel

    compiled = target.decorated if hasattr(target.decorated, "py_func") else kernel(target.function)
    if load is not None:
        compiled = compiled.with_schedule(compiled.load_schedule(load, *call.values.values()))
    first_s, values, returned = _one(target, compiled, call)
    fastest = min((_one(target, compiled, call)[0] for _ in range(repeat)), default=None)
    ran = compiled.compiled if compiled.target is None else compiled.target
    return Result(first_s, fastest, ran, _changed(call.values, values), returned)


def _one(target: Target, compiled: Callable, call: Call) -> tuple[float, Mapping[str, object], object]:
    """(seconds, arguments after the call, what it returned). What Python code raises becomes an error with its text."""
    values = copy.deepcopy(dict(call.values))
    start = time.perf_counter()
    try:
        returned = compiled(*values.values())
    except PolymlError:
        raise
    except Exception as error:  # the kernel ran as plain Python, and raised what its author wrote
        raise PolymlError(f"{target.name} raised {type(error).__name__}: {error}") from error
    return time.perf_counter() - start, values, returned


def _changed(before: Mapping[str, object], after: Mapping[str, object]) -> dict[str, object]:
    """The array arguments that differ in any bit after the call."""
    import numpy as np

    arrays = {name: value for name, value in after.items() if isinstance(value, np.ndarray)}
    return {name: value for name, value in arrays.items() if value.tobytes() != before[name].tobytes()}


def _returned(value: object) -> str:
    parts = value if isinstance(value, tuple) else (value,)
    return "\n".join(output.described(part) for part in parts)


def _data(target: Target, call: Call, result: Result) -> dict[str, object]:
    import numpy as np

    returned = result.returned if isinstance(result.returned, tuple) else (result.returned,)
    return {
        "kernel": target.name,
        "size": dict(call.size),
        "said": list(call.said),
        "first_s": result.first_s,
        "fastest_s": result.fastest_s,
        "compiled": str(result.compiled),
        "changed": {name: output.described(value) for name, value in result.changed.items()},
        "returned": [output.described(v) if isinstance(v, np.ndarray) else v for v in returned if v is not None],
    }
