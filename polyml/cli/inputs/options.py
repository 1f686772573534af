"""Options that several commands have. A command takes each group of options as one value, which `gathered` makes of them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import click
from click.shell_completion import CompletionItem

from polyml.cli.inputs.command_specs import CallSpec
from polyml.cli.inputs.whole_numbers import Whole

Command = Callable[..., Any]  # click calls it with a value for each option
Decorator = Callable[[Command], Command]


def gathered(name: str, make: Callable[..., object], *options: Decorator) -> Decorator:
    """Returns a decorator that gives a click command several options and passes their values to it as one argument.

    name: the parameter of the command that takes that argument.
    make: makes the argument; its parameters have the names of the options.
    """
    parameters = tuple(inspect.signature(make).parameters)

    def decorated(command: Command) -> Command:
        @functools.wraps(command)
        def called(**given: object) -> object:
            made = make(**{each: given.pop(each) for each in parameters if each in given})
            return command(**given, **{name: made})

        made: Command = called
        for option in reversed(options):
            made = option(made)
        return made

    return decorated


class _File(click.ParamType):
    """Texts that name a file, or begin with one: shells complete its path. The command itself says what is wrong with a file."""

    name = "file"

    def shell_complete(self, context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(incomplete, type="file")]


def _given(
    fp: str | None = None,
    schedule: str | None = None,
    fusion: str | None = None,
    tf32: bool | None = None,
    libraries: bool | None = None,
) -> Mapping[str, object]:
    """Returns {setting: value} for the settings of `polyml.config` that are given on the command line."""
    settings = (("fp", fp), ("schedule", schedule), ("fusion", fusion), ("tf32", tf32), ("libraries", libraries))
    return {name: value for name, value in settings if value is not None}


file_type = _File()
_DEFINE = click.option("-D", "define", multiple=True, metavar="NAME=INTEGER", help="A size, as in -D N=1000.")
_ARG = click.option("--arg", "--type", "args", multiple=True, metavar="NAME=TYPE[N,M]",
                    help="An argument's type or value: A=f64[N,M], A=f64[:,:], n=int, alpha=1.5.")  # fmt: skip
_PRESET = click.option("--preset", default=None, help="A size of the file's SIZES; the first one if left out.")
_FP = click.option("--fp", type=click.Choice(["strict", "reassociate", "fast"]), help="Floating point.")
_LIBRARIES = click.option("--libraries", is_flag=True, default=None, help="In CUDA, cuBLAS may compute large products of matrices.")
_TF32 = click.option("--tf32", is_flag=True, default=None, help="In CUDA, products of float32 round their operands to 11 bits.")
_ORDER = click.option("--schedule", type=click.Choice(["auto", "source"]), help="source: keep the order of the loops.")
_FUSION = click.option("--fusion", type=click.Choice(["no", "max", "smart", "model"]), help="Which neighbouring nests become one.")

call = gathered("call", CallSpec, click.argument("kernel", metavar="FILE.py:FUNC", type=file_type), _DEFINE, _ARG, _PRESET)
optional_call = gathered(
    "call",
    CallSpec,
    click.argument("kernel", metavar="FILE.py:FUNC", type=file_type, required=False, default=""),
    _DEFINE,
    _ARG,
    _PRESET,
)
settings = gathered("settings", _given, _FP, _ORDER, _FUSION, _TF32, _LIBRARIES)
fp_setting = gathered("settings", _given, _FP)
number_settings = gathered("settings", _given, _FP, _TF32)
as_json = click.option("--json", "as_json", is_flag=True, help="Print data instead of text.")
threads_type = Whole(0, 256)
seed = click.option("--seed", type=Whole(0, 2**63 - 1), default=0, show_default=True, help="Of the random arguments.")

array = (
    click.option("--array", metavar="ROWSxCOLUMNS", help="Of a systolic array, in place of the machine's, as in 16x16."),
    click.option("--dataflow", type=click.Choice(["os", "ws", "is", "auto", "all"]), default="auto", show_default=True,
                 help="What stays in a systolic array's units: results, weights, inputs; all: every mapping."),
    click.option("--links", type=click.Choice(["manhattan", "diagonal", "broadcast"]), default="manhattan", show_default=True,
                 help="Of a systolic array's units: to four neighbours, to eight, or also wires along rows and columns."),
    click.option("--mapping", multiple=True, metavar="TEXT",
                 help='In place of those that are found: "t = i + j + k, x = i, y = j"; "S1: ..." of several nests.'),
)  # fmt: skip

library = (
    click.option("--signature", required=True, metavar="TYPES",
                 help='Of the parameters, as in "f64[N,K], f64[K,M], f64[N,M]"; sizes of one name are equal.'),
    click.option("-o", "--output", "folder", required=True, metavar="FOLDER", help="Where the files are written."),
    click.option("--cpu", default="native", show_default=True, metavar="NAME",
                 help="As in x86-64-v3, x86-64-v4, neoverse-n1, or a processor of `polyml machine --list`."),
    click.option("--threads", type=click.Choice(["pool", "openmp", "none"]), default="pool", show_default=True,
                 help="That run parallel loops: the library's own, OpenMP's, or none."),
    click.option("--overlap", type=click.Choice(["error", "run"]), default="error", show_default=True,
                 help="Of calls whose written arrays share memory with others; run: in the source's order."),
    click.option("-D", "define", multiple=True, metavar="NAME=INTEGER", help="A size to choose tiles for, as in -D N=1000."),
    click.option("--name", default="", metavar="NAME", help="Of the function and its files, in place of the kernel's."),
    click.option("--object-only", is_flag=True, help="Link no shared library."),
)  # fmt: skip
