"""`polyml report`: what a kernel does to memory, or on a GPU or a systolic array."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import click

from polyml import config
from polyml.api.calls.report_arguments import MOST_ADDRESS, MOST_THREADS
from polyml.api.calls.report_settings import ReportSettings
from polyml.cli.inputs import output
from polyml.cli.inputs.arguments import call_arguments
from polyml.cli.inputs.command_specs import ArraySpec, CallSpec, ReportFiles, ReportSpec
from polyml.cli.inputs.exit_status import DONE, status_of
from polyml.cli.inputs.kernel_file import load_kernel_file
from polyml.cli.inputs.progress import working
from polyml.errors import ConfigError, PolymlError
from polyml.machines import cache_spec
from polyml.measure import lookup
from polyml.reading.input_limits import shown, whole_number, whole_numbers
from polyml.reading.userfiles import called, reason, write_text

_MOST_SIZES, _LARGEST = 64, 2**63 - 1  # the report itself refuses smaller numbers that are too large for it


class PrintableReport(Protocol):
    """The protocol of reports on any target: they have pictures, an HTML page and data for JSON, and print as text."""

    def pictures(self) -> Mapping[str, str]: ...

    def page(self) -> str: ...

    def data(self) -> dict[str, object]: ...

    def text(self, width: int | None = None) -> str: ...


def report(
    call_spec: CallSpec, spec: ReportSpec, array: ArraySpec, files: ReportFiles, settings: Mapping[str, object], as_json: bool
) -> int:
    """Makes a report of a kernel's call, prints it, writes the files that are asked for, and returns the exit status.

    Where a picture or the page cannot be drawn, the other files are still written, and the text is printed.

    call_spec: the kernel and its arguments.
    spec: the target, the machine and their settings.
    array: the systolic array and the mappings onto it.
    """
    try:
        found = _report(call_spec, spec, array, settings)
    except PolymlError as problem:
        click.echo(output.line(problem), err=True)
        return status_of(problem)
    pictures: Mapping[str, str] | None = None
    page, problems = None, []
    try:
        pictures = found.pictures() if files.svg else None
    except PolymlError as problem:
        problems.append(problem)
    try:
        page = found.page() if files.html else None
    except PolymlError as problem:
        problems.append(problem)
    try:
        _write_files(found, pictures, page, files)
    except PolymlError as problem:
        click.echo(output.line(problem), err=True)
        return status_of(problem)
    _print(found, as_json)
    for each in problems:
        click.echo(output.line(each), err=True)
    return status_of(problems[0]) if problems else DONE


def _write_files(found: PrintableReport, pictures: Mapping[str, str] | None, page: str | None, files: ReportFiles) -> None:
    if files.svg and pictures is not None:
        _draw(pictures, Path(files.svg))
    if files.html and page is not None:
        _write(page, Path(files.html))
    if files.save:
        _save(found, files.save)


def _print(found: PrintableReport, as_json: bool) -> None:
    if as_json:
        output.as_json(found.data())
    else:
        click.echo(found.text(output.width()))


def _report(call_spec: CallSpec, spec: ReportSpec, array: ArraySpec, settings: Mapping[str, object]) -> PrintableReport:
    """Returns the report that the command line asks for. Raises ConfigError for options that do not fit the target."""
    from polyml.api import kernel
    from polyml.api.report_targets import check

    wanted = _settings(spec, array)
    described = None if spec.machine is None else lookup.find(spec.machine, measure=spec.machine == "host" and spec.target == "cpu")
    check(spec.target, described, wanted)
    loaded = load_kernel_file(call_spec.kernel)
    call = call_arguments(loaded, call_spec, seed=0)
    for line in call.said:
        click.echo(line, err=True)
    with working(_what(spec), is_timing=spec.measure), config.scope(**settings):
        return kernel(loaded.function).report(
            *call.values.values(), machine=described, target=spec.target, **{**vars(wanted), "addresses": dict(wanted.addresses)}
        )


def _what(spec: ReportSpec) -> str:
    """Returns what takes longest in a report."""
    if spec.measure:
        return "simulating caches and running the variants" if not spec.no_simulation else "running the variants"
    return "simulating caches" if spec.target == "cpu" and not spec.no_simulation else "describing the call"


def _settings(spec: ReportSpec, array: ArraySpec) -> ReportSettings:
    """Returns the settings that texts of the command line stand for. Raises ConfigError for a text that stands for none."""
    caches = () if spec.cache is None else cache_spec.parse(spec.cache)
    tile = () if spec.tile is None else _sizes("--tile", spec.tile, "of tiles, outermost first, as in 32,32,64")
    threads = whole_number(spec.threads, 0, MOST_THREADS)
    shape = () if array.array is None else array_shape(array.array)
    block = () if spec.block is None else _sizes("--block", spec.block, "of threads along x, y and z, as in 32,8")
    addresses = tuple(map(_address, spec.addresses))
    if threads is None:
        notes = [f"expected a number of threads up to {MOST_THREADS:,}, 0 for all"]
        raise ConfigError(f"--threads does not take {spec.threads[:40]}", notes=notes)
    return ReportSettings(
        caches=caches, tile=tile, threads=threads, simulate=not spec.no_simulation, measure=spec.measure, coherent=spec.coherent, addresses=addresses,
        block=block, array=shape, dataflow=array.dataflow, links=array.links, mapping=array.mapping, rank=array.rank,
    )  # fmt: skip


def _address(text: str) -> tuple[str, int]:
    """Returns (array, byte) for the text of --address, such as "B=8192". Raises ConfigError for any other text."""
    name, equals, number = text.partition("=")
    found = whole_number(number.strip(), 0, MOST_ADDRESS)
    if not equals or not name.strip() or found is None:
        notes = [f"expected an array and the byte at which it begins, up to {MOST_ADDRESS:,}, as in B=8192"]
        raise ConfigError(f"--address does not take {shown(text)}", notes=notes)
    return name.strip(), found


def array_shape(text: str) -> tuple[int, ...]:
    """Returns (rows, columns), or (length,), for the text of --array, such as "16x16". Raises ConfigError for any other text."""
    found = whole_numbers(text.lower(), "x", 2, _LARGEST)
    if found is None:
        raise ConfigError(f"--array does not take {shown(text)}", notes=["expected rows and columns, as in 16x16, or a length"])
    return found


def _draw(pictures: Mapping[str, str], folder: Path) -> None:
    """Writes each picture to NAME.svg in a folder, which is made where it does not exist. Raises ConfigError where that fails.

    pictures: {name: SVG text}; "" for a picture that there is not.
    """
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
    """Raises a ConfigError in place of an error inside its `with` block that keeps a file from being written.

    option: the option that names the file, for the message.
    """
    try:
        yield
    except (OSError, ValueError) as problem:
        raise ConfigError(f"{option} cannot write to {called(path)}: {reason(problem)}") from None


def _save(found: PrintableReport, file: str) -> None:
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
