"""`polyml run`: one kernel on random arguments."""

from __future__ import annotations

import copy
import time
from collections.abc import Mapping
from dataclasses import dataclass

import click

from polyml import config
from polyml.api import Kernel, kernel
from polyml.api.target import Target
from polyml.cli.inputs import output
from polyml.cli.inputs.arguments import CommandCall, call_arguments
from polyml.cli.inputs.command_specs import CallSpec, RunSpec
from polyml.cli.inputs.kernel_file import KernelFile, load_kernel_file, raised
from polyml.errors import PolymlError


@dataclass(frozen=True)
class Result:
    """A result holds what `polyml run` found in its calls of a kernel.

    first_s: the seconds of the first call, compilation included.
    fastest_s: the seconds of the fastest later call; None if there was none.
    compiled: whether machine code ran, or the target that the kernel was simulated on.
    changed: {array argument: its value after the first call}, for those that the call changed.
    returned: what the first call returned.
    """

    first_s: float
    fastest_s: float | None
    compiled: object
    changed: Mapping[str, object]
    returned: object


def run(call_spec: CallSpec, spec: RunSpec, settings: Mapping[str, object], as_json: bool) -> None:
    """Calls a kernel once and then several times on the same arguments; prints the first call's results and the times.

    call_spec: the kernel and its arguments.
    spec: the threads, repetitions, seed and schedule.
    settings: settings of `polyml.config`.
    as_json: whether JSON is printed.
    """
    target = load_kernel_file(call_spec.kernel)
    call = call_arguments(target, call_spec, spec.seed)
    threads = {} if spec.threads is None else {"threads": spec.threads}
    with config.scope(**threads, **settings):
        result = _timed(target, call, spec)
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
        rows.append((f"best of {spec.repeat}", f"{result.fastest_s * 1e3:.3g} ms", True))
    rows.append(("runs on" if isinstance(result.compiled, Target) else "compiled", str(result.compiled), True))
    output.pairs(rows)


def _timed(target: KernelFile, call: CommandCall, spec: RunSpec) -> Result:
    """Calls the kernel `spec.repeat` + 1 times, and returns the results of the first call with the times."""
    compiled = target.as_kernel() if spec.target is None else kernel(target.function, target=spec.target)
    if spec.load is not None:
        compiled = compiled.with_schedule(compiled.load_schedule(spec.load, *call.values.values()))
    first_s, values, returned = _one(target, compiled, call)
    fastest = min((_one(target, compiled, call)[0] for _ in range(spec.repeat)), default=None)
    ran = compiled.compiled if compiled.target is None else compiled.target
    return Result(first_s, fastest, ran, _changed(call.values, values), returned)


def _one(target: KernelFile, compiled: Kernel, call: CommandCall) -> tuple[float, Mapping[str, object], object]:
    """Calls the kernel once on copies of the arguments. Returns (seconds, arguments after the call, what it returned).

    Raises PolymlError with the text of what the kernel raises where it runs as plain Python.
    """
    values = copy.deepcopy(dict(call.values))
    start = time.perf_counter()
    try:
        returned = compiled(*values.values())
    except PolymlError:
        raise
    except Exception as error:  # the kernel ran as plain Python, and raised what its author wrote
        raise raised(target, error) from error
    return time.perf_counter() - start, values, returned


def _changed(before: Mapping[str, object], after: Mapping[str, object]) -> dict[str, object]:
    """Returns {name: value after the call} for the array arguments that differ in any bit from before."""
    import numpy as np

    arrays = {name: value for name, value in after.items() if isinstance(value, np.ndarray)}
    return {name: value for name, value in arrays.items() if value.tobytes() != np.asarray(before[name]).tobytes()}


def _returned(value: object) -> str:
    parts = value if isinstance(value, tuple) else (value,)
    return "\n".join(output.described(part) for part in parts)


def _data(target: KernelFile, call: CommandCall, result: Result) -> dict[str, object]:
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
