"""`polyml bench`: a table of kernels, their results and their times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import click

from polyml import kernels
from polyml.cli.commands import bench_runner as engine
from polyml.cli.inputs import output
from polyml.cli.inputs.command_specs import BenchSpec
from polyml.cli.inputs.progress import working
from polyml.runtime.loading import thread_pool as pool

_HEADINGS = ("kernel", "size", "compile ms", "cached ms", "run ms", "rate", "x NumPy", "error/bound", "")
_RIGHT = (2, 3, 4, 5, 6, 7)
ALL = ("all", *kernels.NAMES)  # what names a kernel, or every kernel


def bench(names: Sequence[str], spec: BenchSpec, settings: Mapping[str, object], as_json: bool) -> bool:
    """Runs and times the kernels, prints a table of their figures, and returns whether the results of all are right.

    names: kernels of `polyml.kernels`, or "all".
    settings: settings of `polyml.kernel`.
    as_json: whether JSON is printed in place of the table.
    """
    wanted = [full for name in names for full in _names(name)]
    with working("timing kernels", len(wanted), is_timing=True) as done:
        rows = engine.run(wanted, spec, settings, on_kernel=done)
    if as_json:
        output.as_json([{**asdict(r), "ok": r.ok, "numpy_ratio": r.numpy_ratio} for r in rows])
        return all(r.ok for r in rows)
    output.prose(f"{spec.preset.upper()}, {pool.count(spec.threads)} threads, checked on random data against a reference")
    output.table(_HEADINGS, [_cells(r) for r in rows], right=_RIGHT)
    if hindered := engine.overrides():
        said = " and ".join(hindered)
        click.echo(
            f"NumPy may be slower here than it can be: {said} overrides which code it chooses. Unset it to compare.", err=True
        )
    for row in rows:
        if row.failure:
            click.echo(f"\n{row.kernel}:\n{row.failure}", err=True)
    return all(r.ok for r in rows)


def _names(name: str) -> tuple[str, ...]:
    return kernels.NAMES if name == "all" else (kernels.canonical(name),)


def _cells(row: engine.Row) -> tuple[str, ...]:
    size = " ".join(f"{name}={value}" for name, value in row.size.items())
    if row.failure:
        return (row.kernel, size, *[""] * 6, "FAILED")
    return (
        row.kernel,
        size,
        _milliseconds(None if row.compile is None else row.compile.compile_s),
        _milliseconds(None if row.compile is None else row.compile.cached_s),
        _milliseconds(row.run_s),
        "" if row.rate is None else f"{row.rate:.1f} {row.unit}",
        "" if row.numpy_ratio is None else f"{row.numpy_ratio:.2f}",
        "" if row.bound_ratio is None else f"{row.bound_ratio:.2g}",
        "ok" if row.ok else "WRONG",
    )


def _milliseconds(seconds: float | None) -> str:
    """Returns a time in seconds as a text in milliseconds with three significant figures; "" for None.

    >>> _milliseconds(0.0123)
    '12.3'
    """
    if seconds is None:
        return ""
    value = seconds * 1e3
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3g}"
