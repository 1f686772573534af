"""The command `polyml`: its options. Each subcommand's work is in a module of its own, which is imported when it runs."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import click

from polyml.cli.cache_group import cache
from polyml.cli.completion_command import completion, kernel_names
from polyml.cli.inputs import options
from polyml.cli.inputs.command_specs import (
    ArraySpec,
    BenchSpec,
    BuildSpec,
    CallSpec,
    ExplainSpec,
    ExploreSpec,
    ReportFiles,
    ReportSpec,
    RunSpec,
    ScheduleFiles,
    ShowSpec,
    SimulateSpec,
)
from polyml.cli.inputs.exit_status import DONE, REFUSED, status_of
from polyml.cli.inputs.options import gathered
from polyml.cli.inputs.whole_numbers import Whole
from polyml.config import PASSES, STAGES
from polyml.errors import PolymlError, shortened

Settings = Mapping[str, object]  # settings of `polyml.config` that are on the command line
_GPUS = ("opencl", "cuda")  # languages of kernels for GPUs
_GPU_STAGES = (*_GPUS, "ptx", "sass")


class _Errors(click.Group):
    """A click group that prints errors instead of tracebacks, and suggests similar names for a command that does not exist."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(context, args)
        except click.ClickException as error:
            raise _shortened(error) from None

    def invoke(self, context: click.Context) -> object:
        try:
            return super().invoke(context)
        except PolymlError as error:
            _complain(str(error))
            status = status_of(error)
        except click.ClickException as error:
            raise _shortened(error) from None
        except (click.exceptions.Exit, click.Abort, BrokenPipeError):
            raise
        except MemoryError as error:
            _complain("error: there is not enough memory for that\n  note: smaller sizes take less")
            status = status_of(error)
        except Exception as error:  # a defect of polyml: still one line for the user, with the way to more
            if context.params.get("traceback"):
                raise
            again = f"polyml --traceback {context.invoked_subcommand} ..."
            _complain(f"error: {type(error).__name__}: {error}\n  note: a defect of polyml; `{again}` shows where")
            status = status_of(error)
        return context.exit(status)

    def resolve_command(self, context: click.Context, args: list[str]):
        import difflib

        try:
            return super().resolve_command(context, args)
        except click.UsageError as error:
            near = difflib.get_close_matches(args[0], self.list_commands(context), n=1)
            if near and not getattr(error, "possibilities", None):  # newer versions of click say so themselves
                vars(error)["message"] = f"{error.message} Did you mean {near[0]!r}?"
            raise


def _shortened(error: click.ClickException) -> click.ClickException:
    """Shortens a very long message of a click error in place, and returns the error."""
    vars(error)["message"] = shortened(error.message)  # click declares it final, and prints what it says
    return error


def _complain(text: str) -> None:
    """Prints an error on standard error, with the word "error:" in red."""
    click.echo(text.replace("error:", click.style("error:", fg="red", bold=True), 1), err=True)


def _version(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
    """Prints polyml's version and ends the program if --version is given; click calls it with the option's value."""
    if wanted:
        from polyml.cli.commands.doctor import version

        click.echo(f"polyml {version('polyml')}")
        context.exit()


@click.group(cls=_Errors, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Print it.")
@click.option("--traceback", is_flag=True, help="Show Python's traceback of an internal error.")
def main(traceback: bool) -> None:
    """Compile loops over NumPy arrays: bench, run and look at kernels."""


@main.command()
@click.argument("names", nargs=-1, required=True, shell_complete=kernel_names)
@gathered(
    "spec",
    BenchSpec,
    click.option("--preset", default="LARGE", show_default=True, help="MINI, SMALL, MEDIUM, LARGE or EXTRALARGE."),
    click.option("--threads", type=options.threads_type, default=0, help="0: every core this process may use."),
    click.option("--repeat", type=Whole(1, 10_000), default=5, show_default=True, help="Runs, of which the median counts."),
    click.option("--dtype", type=click.Choice(["float64", "float32"]), help="Element type of the float kernels."),
    click.option("--check-only", is_flag=True, help="Compare with the reference, take no times."),
)
@options.settings
@options.as_json
def bench(names: tuple[str, ...], spec: BenchSpec, settings: Settings, as_json: bool) -> None:
    """Compile, check and time the kernels NAMES of kernels/, or `all`."""
    from polyml.cli.commands.bench import bench as run

    sys.exit(DONE if run(names, spec, settings, as_json) else REFUSED)


@main.command()
@options.call
@gathered(
    "spec",
    RunSpec,
    click.option("--threads", type=options.threads_type, help="0: every core this process may use."),
    click.option("--repeat", type=Whole(0, 1_000_000), default=3, show_default=True,
                 help="Runs after the first; the fastest counts."),
    options.seed,
    click.option("--load", type=options.file_type, help="A schedule to run with, as `polyml schedule --save` writes it."),
    click.option("--target", type=click.Choice(_GPUS), help="What it runs on, in place of what its file says."),
)  # fmt: skip
@options.settings
@options.as_json
def run(call: CallSpec, spec: RunSpec, settings: Settings, as_json: bool) -> None:
    """Call a kernel on random arguments; print its results and times."""
    from polyml.cli.commands.run import run

    run(call, spec, settings, as_json)


@main.command()
@gathered(
    "what",
    ShowSpec,
    click.option("--stage", type=click.Choice((*STAGES, *_GPU_STAGES)),
                 help="Which stage's result; or the text for GPUs: OpenCL C, CUDA C++, or what nvcc makes of it."),
    click.option("--after", type=click.Choice(PASSES), help="What there is after this pass, in place of a stage."),
    click.option("--from", "file", type=options.file_type,
                 help="A kernel, SCoP or program that `--full` wrote, in place of FILE.py:FUNC."),
    click.option("--full", is_flag=True, help="Of kernel, domain and ast: all that --from takes."),
    click.option("--arch", metavar="sm_90", help="Of ptx and sass: the GPU's architecture; sm_90 if left out."),
    click.option("--target", type=click.Choice(["cpu", *_GPUS]), default="cpu", show_default=True,
                 help="Of schedule: what it is for."),
    click.option("--load", type=options.file_type, help="Of text for GPUs: the schedule, as `polyml schedule --target` saves it."),
)  # fmt: skip
@options.optional_call
@options.settings
@options.as_json
def show(what: ShowSpec, call: CallSpec, settings: Settings, as_json: bool) -> None:
    """Print what a stage or a pass of the compiler makes of a kernel."""
    from polyml.cli.commands.show import show, show_after, show_from

    if (what.stage is None) is (what.after is None):
        raise click.UsageError("Give either '--stage' or '--after'.")
    if (call.kernel == "") is (what.file is None):
        raise click.UsageError("Give either FILE.py:FUNC or '--from'.")
    if what.arch is not None and what.stage not in ("ptx", "sass"):
        raise click.UsageError("'--arch' goes with '--stage ptx' and '--stage sass' alone.")
    if what.target != "cpu" and what.stage != "schedule":
        raise click.UsageError("'--target' goes with '--stage schedule' alone.")
    if what.load is not None and what.stage not in _GPU_STAGES:
        raise click.UsageError(f"'--load' goes with '--stage' {', '.join(_GPU_STAGES)} alone.")
    if what.file is not None:
        if what.stage is None or call != CallSpec("") or as_json:
            raise click.UsageError("'--from' goes with '--stage', '--full', '--fp', '--schedule' and '--fusion' alone.")
        show_from(what.file, what.stage, settings, what.full)
    elif what.after is not None:
        show_after(call, what.after, settings, as_json)
    elif what.stage is not None:
        show(call, what, settings, as_json)


@main.command()
@click.option("--html", "page", metavar="FILE", type=click.Path(dir_okay=False), help="Write a page instead of text.")
@options.call
@options.settings
def trace(page: str | None, call: CallSpec, settings: Settings) -> None:
    """Print every pass in order: its time, what it changed, where its code is."""
    from polyml.cli.commands.show import trace

    trace(call, page, settings)


@main.command()
@options.optional_call
@gathered(
    "spec",
    ExplainSpec,
    click.option("--annotate", is_flag=True, help="Print the source with a remark beside each loop."),
    click.option("--format", "form", type=click.Choice(["text", "json", "html", "sarif", "gcc"]), default="text", show_default=True,
                 help="gcc: FILE:LINE:COLUMN lines for editors; sarif: SARIF 2.1.0."),
    click.option("--json", "form", flag_value="json", help="The same as --format json."),
    click.option("--diff", nargs=2, metavar="OLD NEW", type=options.file_type, help="Print what changed between two saved files of JSON."),
)  # fmt: skip
@options.settings
def explain(call: CallSpec, spec: ExplainSpec, settings: Settings) -> None:
    """Say what was done to each loop of a kernel, and why the rest was not."""
    from polyml.cli.commands.explaining.explain import explain

    explain(call, spec, settings)


@main.command()
@click.argument("kernel", metavar="FILE.py:FUNC", type=options.file_type)
@gathered("spec", BuildSpec, *options.library)
@options.settings
@options.as_json
def build(kernel: str, spec: BuildSpec, settings: Settings, as_json: bool) -> None:
    """Build a library for C: an object, a shared library and a header."""
    from polyml.cli.commands.libraries.build_library import build_library

    build_library(kernel, spec, settings, as_json)


@main.command()
@click.option("--save", type=options.file_type, help="Write the schedule to a file.")
@click.option("--load", type=options.file_type, help="Take the schedule from a file and prove it again.")
@click.option("--from", "start", type=click.Choice(["auto", "source"]), default="auto", help="source: the order of the source.")
@click.option("--target", type=click.Choice(["cpu", *_GPUS]), default="cpu", show_default=True, help="What it is for.")
@options.call
@options.as_json
@options.number_settings
def schedule(
    save: str | None, load: str | None, start: str, target: str, call: CallSpec, as_json: bool, settings: Settings
) -> None:
    """Print, save or check a kernel's schedule."""
    from polyml.cli.commands.schedule import schedule

    schedule(call, ScheduleFiles(save, load, as_json), start, target, settings)


@main.command()
@options.call
@gathered(
    "wanted",
    ExploreSpec,
    click.option("--html", metavar="FILE", type=click.Path(dir_okay=False), help="Write the page instead of serving it."),
    click.option("--from", "start", type=click.Choice(["source", "auto"]), default="source", help="auto: what the compiler finds."),
    click.option("--load", type=options.file_type, help="Begin with the schedule of a file."),
    click.option("--size", multiple=True, metavar="NAME=INTEGER", help="A size of the picture, as in --size A_0=6."),
    click.option("--tile", multiple=True, type=Whole(2, 4_096), metavar="INTEGER", help="A tile size that the page knows."),
    click.option("--port", type=Whole(0, 65_535), default=0, show_default=True, help="Of the page's address; 0: any."),
    click.option("--browser", is_flag=True, help="Open the page in a browser."),
)  # fmt: skip
@options.number_settings
def explore(call: CallSpec, wanted: ExploreSpec, settings: Settings) -> None:
    """Make a page on which a kernel's schedule is explored and changed."""
    from polyml.cli.commands.pages.explore import explore

    explore(call, wanted, settings)


@main.command()
@options.call
@gathered(
    "spec",
    ReportSpec,
    click.option("--target", type=click.Choice(["cpu", "cuda", "opencl", "systolic"]), default="cpu", show_default=True,
                 help="cuda, opencl: what threads of a GPU do; systolic: what an array of units does."),
    click.option("--machine", metavar="NAME|FILE", type=options.file_type,
                 help="Of `polyml machine --list`, or a TOML file; if left out, host, or h100 for GPUs."),
    click.option("--block", metavar="SIZES",
                 help="Of a GPU's blocks, threads along x, y and z, as in 32,8; else the best of some."),
    click.option("--cache", metavar="LEVELS", help="In place of the machine's caches, as in 32K:8:64,1M:16:64:shared."),
    click.option("--tile", metavar="SIZES", help="Also the source's loops in tiles of these sizes, as in 32,32,32."),
    click.option("--threads", default="0", help="That run polyml's schedule, and whose rates count; 0: all of the machine."),
    click.option("--no-simulation", is_flag=True, help="Leave out what takes longest: misses, and what follows from them."),
    click.option("--measure", is_flag=True, help="Run the variants too, for times beside the predicted ones."),
    click.option("--address", "addresses", multiple=True, metavar="ARRAY=BYTES",
                 help="Where an array begins, which decides about conflicts, as in B=8192; the others follow one another."),
    click.option("--coherent", is_flag=True,
                 help="Lines that one thread writes leave the caches of others; count these misses too."),
)  # fmt: skip
@gathered(
    "array",
    ArraySpec,
    *options.array,
    click.option("--rank", type=click.Choice(["cycles", "utilisation", "ports", "registers", "traffic", "energy"]),
                 default="cycles", show_default=True, help="By what the best mapping onto a systolic array is."),
)  # fmt: skip
@gathered(
    "files",
    ReportFiles,
    click.option("--svg", metavar="FOLDER",
                 help="Also write the pictures there: roofline.svg, tiles.svg; array.svg of a systolic array."),
    click.option("--html", type=options.file_type, help="Also write a page; of a systolic array, one that steps through its cycles."),
    click.option("--save", type=options.file_type,
                 help="Also write the source's loops in the tiles chosen, which `polyml run --load` takes."),
)  # fmt: skip
@options.number_settings
@options.as_json
def report(
    call: CallSpec, spec: ReportSpec, array: ArraySpec, files: ReportFiles, settings: Settings, as_json: bool
) -> None:  # fmt: skip
    """Say where a kernel's data come from, what bounds it, and why."""
    from polyml.cli.commands.report import report

    sys.exit(report(call, spec, array, files, settings, as_json))


@main.command()
@options.call
@click.option(
    "--machine", metavar="NAME|FILE", type=options.file_type, help="A systolic array of `polyml machine --list`, or a TOML file."
)
@gathered("array", ArraySpec, *options.array)
@gathered(
    "spec",
    SimulateSpec,
    click.option("--engine", type=click.Choice(["compiled", "numpy"]), default="compiled", show_default=True,
                 help="That simulates it."),
    click.option("--trace", is_flag=True, help="Also the units at work in each cycle."),
    click.option("--listing", is_flag=True,
                 help="Also what single units do in the first fold: load, compute, forward, drain."),
    click.option("--unit", "units", multiple=True, metavar="ROW,COLUMN",
                 help="Of the listing, this one alone; several may be given."),
    options.seed,
)  # fmt: skip
@options.fp_setting
@options.as_json
def simulate(
    call: CallSpec, machine: str | None, array: ArraySpec, spec: SimulateSpec, settings: Settings, as_json: bool
) -> None:  # fmt: skip
    """Run a kernel on a systolic array, unit by unit, and compare its values with the compiled kernel's."""
    from polyml.cli.commands.simulate import simulate

    sys.exit(simulate(call, machine, array, spec, settings, as_json))


@main.command()
@click.option(
    "--reduce",
    "bundle",
    metavar="BUNDLE",
    type=options.file_type,
    help="Make a kept failure smaller instead: less text, smaller arrays.",
)
@options.as_json
def doctor(bundle: str | None, as_json: bool) -> None:
    """Print versions, CPU, threads, cache, kept failures of the compiler, and whether a small kernel compiles."""
    if bundle is not None:
        from polyml.cli.commands.defects import reduce

        sys.exit(reduce(bundle, as_json))
    from polyml.cli.commands.doctor import examine
    from polyml.cli.inputs import output

    findings = examine()
    if as_json:
        output.as_json({f.name: f.data for f in findings})
    else:
        output.pairs([(f.name, f.text, f.ok) for f in findings])
    sys.exit(DONE if all(f.ok for f in findings) else REFUSED)


@main.command()
@click.argument("bundle", metavar="BUNDLE", type=options.file_type)
@options.as_json
def bisect(bundle: str, as_json: bool) -> None:
    """Name the pass and the statement at which a recorded failure, a file BUNDLE that `polyml doctor` lists, goes wrong."""
    from polyml.cli.commands.defects import bisect

    sys.exit(bisect(bundle, as_json))


@main.command()
@click.argument("name", metavar="[NAME|FILE]", type=options.file_type, default="host")
@click.option("--measure", is_flag=True, help="Measure what the host reaches, and keep it.")
@click.option("--list", "names", is_flag=True, help="Print the names that are known.")
@options.as_json
def machine(name: str, measure: bool, names: bool, as_json: bool) -> None:
    """Describe the host, a preset or a TOML file: caches, peaks, bandwidths, and where each figure comes from."""
    from polyml.cli.commands import machine

    sys.exit(machine.names() if names else machine.describe(name, measure, as_json))


main.add_command(cache)
main.add_command(completion)
