"""`polyml report`: a kernel's memory behaviour, or what it does on a GPU or a systolic array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from polyml import config
from polyml.api.calls.report_arguments import MOST_ADDRESS, MOST_THREADS
from polyml.cli.inputs import output
from polyml.cli.inputs.arguments import call_arguments
from polyml.cli.inputs.kernel_file import load_target
from polyml.errors import ConfigError, PolymlError
from polyml.machines import cache_spec
from polyml.measure import lookup
from polyml.reading.input_limits import shown, whole_number, whole_numbers
from polyml.reading.userfiles import called, reason, write_text

_USAGE = 2  # the exit status
_MOST_SIZES, _LARGEST = 64, 2**63 - 1  # what is smaller is refused by the report, where it is too much for it


def report(spec: str, define: Sequence[str], args: Sequence[str], preset: str | None, target: str, machine: str | None,
           asked: Mapping[str, object], files: Mapping[str, str | None], options: Mapping[str, object], as_json: bool) -> int:  # fmt: skip
    """Print the report; the exit status. asked: by the report's parameters, as the command line has them. files: that are written
    besides: svg, a folder of pictures; html, a page; save, the schedule of the tiles chosen. What keeps a picture or
    the page from being drawn keeps neither the others nor the text.
    """
    try:
        found = _report(spec, define, args, preset, target, machine, asked, options)
    except PolymlError as problem:
        click.echo(output.line(problem), err=True)
        return _USAGE
    made, problems = {}, []
    for name, make in {"svg": found.pictures, "html": found.page}.items():
        try:
            made |= {name: make()} if files[name] else {}
        except PolymlError as problem:
            problems.append(problem)
    try:
        if "svg" in made:
            _draw(made["svg"], Path(files["svg"]))
        if "html" in made:
            _write(made["html"], Path(files["html"]))
        if files["save"]:
            _save(found, files["save"])
    except PolymlError as problem:
        click.echo(output.line(problem), err=True)
        return _USAGE
    _print(found, as_json)
    for problem in problems:
        click.echo(output.line(problem), err=True)
    return _USAGE if problems else 0


def _print(found, as_json: bool) -> None:
    if as_json:
        output.as_json(found.data())
    else:
        click.echo(str(found))


def _report(spec, define, args, preset, target, machine, asked, options):
    from polyml.api import kernel
    from polyml.api.report_targets import check

    values: dict[str, object] = {
        **asked,
        "caches": () if asked["caches"] is None else cache_spec.parse(asked["caches"]),
        "tile": () if asked["tile"] is None else _sizes("--tile", asked["tile"], "of tiles, outermost first, as in 32,32,64"),
        "threads": whole_number(asked["threads"], 0, MOST_THREADS),
        "array": () if asked["array"] is None else array_shape(asked["array"]),
        "block": () if asked["block"] is None else _sizes("--block", asked["block"], "of threads along x, y and z, as in 32,8"),
    }
    values["addresses"] = tuple(map(_address, asked["addresses"]))
    if values["threads"] is None:
        notes = [f"expected a number of threads up to {MOST_THREADS:,}, 0 for all"]
        raise ConfigError(f"--threads does not take {asked['threads'][:40]}", notes=notes)
    described = None if machine is None else lookup.find(machine, measure=machine == "host" and target == "cpu")
    check(target, described, values)
    loaded = load_target(spec)
    call = call_arguments(loaded, define, args, preset, seed=0)
    for line in call.said:
        click.echo(line, err=True)
    with config.scope(**options):
        return kernel(loaded.function).report(
            *call.values.values(), machine=described, target=target, **{**values, "addresses": dict(values["addresses"])}
        )


def _address(text: str) -> tuple[str, int]:
    """What --address says."""
    name, equals, number = text.partition("=")
    found = whole_number(number.strip(), 0, MOST_ADDRESS)
    if not equals or not name.strip() or found is None:
        notes = [f"expected an array and the byte at which it begins, up to {MOST_ADDRESS:,}, as in B=8192"]
        raise ConfigError(f"--address does not take {shown(text)}", notes=notes)
    return name.strip(), found


def array_shape(text: str) -> tuple[int, ...]:
    """What --array says."""
    found = whole_numbers(text.lower(), "x", 2, _LARGEST)
    if found is None:
        raise ConfigError(f"--array does not take {shown(text)}", notes=["expected rows and columns, as in 16x16, or a length"])
    return found


def _draw(pictures: Mapping[str, str], folder: Path) -> None:
    """The pictures that there are."""
    with _writing("--svg", folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in pictures.items():
            if text:
                write_text(folder / f"{name}.svg", text)


def _write(page: str, path: Path) -> None:
    with _writing("--html", path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, page)


@contextmanager
def _writing(option: str, path: str | Path) -> Iterator[None]:
    """What keeps files from being written becomes a ConfigError."""
    try:
        yield
    except (OSError, ValueError) as problem:
        raise ConfigError(f"{option} cannot write to {called(path)}: {reason(problem)}") from None


def _save(found, file: str) -> None:
    from polyml.report.report import Report

    if not isinstance(found, Report):
        raise ConfigError("--save is not for this target: no tiles are chosen for it")
    if found.tiles.schedule is None:
        raise ConfigError(f"--save has no tiles to write: {found.tiles.problem}")
    with _writing("--save", file):
        write_text(file, found.tiles.schedule.text)


def _sizes(option: str, text: str, expected: str) -> tuple[int, ...]:
    found = whole_numbers(text, ",", _MOST_SIZES, _LARGEST)
    if found is None:
        raise ConfigError(f"{option} does not take {shown(text)}", notes=[f"expected sizes {expected}"])
    return found
