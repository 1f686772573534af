"""`polyml explain`: what was done to each loop of a kernel and what was not, as text, JSON, HTML, and in the forms of editors."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import click

from polyml import config
from polyml.cli.inputs import output
from polyml.cli.inputs.arguments import call_arguments, call_types
from polyml.cli.inputs.command_specs import CallSpec, ExplainSpec
from polyml.cli.inputs.kernel_file import KernelFile, load_kernel_file
from polyml.errors import ConfigError, LanguageError, PolymlOverflowError, PolymlTypeError
from polyml.frontend.syntax import ArgType, ArrayType
from polyml.reading.userfiles import called, read_text
from polyml.remarks.values import Place, Remarks

_MOST_BYTES = 64 << 20  # of a file of saved remarks


def explain(call: CallSpec, spec: ExplainSpec, settings: Mapping[str, object]) -> None:
    """Compiles a kernel for its types, and prints what was done, and why the rest was not; or what differs between two such reports.

    Raises ConfigError for options that do not go together.
    """
    if spec.diff is not None:
        _difference(call, spec, spec.diff)
        return
    if not call.kernel:
        raise ConfigError("explain which kernel?", notes=["say FILE.py:FUNC, or --diff OLD NEW for two saved files of JSON"])
    if spec.annotate and spec.form != "text":
        raise ConfigError(f"--annotate prints text, and --format {spec.form} asks for another form")
    target = load_kernel_file(call.kernel)
    with config.scope(**settings):
        text = _explained(target, call, spec)
        (output.prose if spec.form == "text" and not spec.annotate else click.echo)(text)


def _difference(call: CallSpec, spec: ExplainSpec, files: tuple[str, str]) -> None:
    """Prints what changed between two saved files of remarks."""
    from polyml.remarks.formats import data

    if call.kernel or spec.annotate or spec.form != "text":
        raise ConfigError("--diff OLD NEW compares two saved files, so it takes no kernel, --annotate or --format")
    old, new = (data.read(read_text(file, _MOST_BYTES), called(file)) for file in files)
    if old.get("kernel") != new.get("kernel"):
        click.echo(f"{called(files[0])} is of {old.get('kernel')}, {called(files[1])} of {new.get('kernel')}", err=True)
    click.echo(data.difference(old, new) or "no difference")


def _explained(target: KernelFile, call: CallSpec, spec: ExplainSpec) -> str:
    """Returns what is printed of a kernel."""
    text, found = _found(target, call)
    if spec.annotate:
        return _annotated(target, found)
    return _with_loops(text, found) if spec.form == "text" else _in_form(target, found, spec.form)


def _found(target: KernelFile, call: CallSpec) -> tuple[str, Remarks]:
    """Compiles a kernel, and returns the text on what was compiled or why it is not, and the remarks on it.

    Where the types of arguments were guessed, that is printed on standard error.
    """
    from polyml.api import kernel
    from polyml.api.explaining import words
    from polyml.api.explaining.refused import refused

    where = f"{target.name} ({target.file}:{target.function.__code__.co_firstlineno})"
    types: Sequence[ArgType] = ()
    try:
        types, said = call_types(target, call)
        for line in said:
            click.echo(line, err=True)
        given: Sequence[object] = types
        if call.define or call.preset:  # tiles and lanes are chosen for sizes that are asked for
            given = tuple(call_arguments(target, call, seed=0).values.values())
        made = kernel(target.function)
        compiled = made.lower(*given)
        (found,) = made.remarks(*given)
        return words.compiled(compiled.artifact, config.resolve(), compiled.timings, False, where), found
    except (LanguageError, PolymlTypeError, PolymlOverflowError) as problem:
        signature = words.signature(types, ["C" for t in types if isinstance(t, ArrayType)])
        return refused(target.function, problem, where, signature if types else "")


def _with_loops(text: str, found: Remarks) -> str:
    from polyml.remarks.formats.text import lines

    return "\n".join([text, *(f"  {line}" for line in lines(found))])


def _in_form(target: KernelFile, found: Remarks, form: str) -> str:
    from polyml.remarks.formats import data, editors, html

    start = _start(target)
    if form == "json":
        return json.dumps(data.data(found), indent=2)
    if form == "html":
        return html.document(found).rstrip("\n")
    if form == "gcc":
        return editors.gcc(found, start)
    from polyml.cli.commands.doctor import version

    return json.dumps(editors.sarif(found, start, version("polyml")), indent=2)


def _start(target: KernelFile) -> Place:
    """Returns the place of the kernel's first line."""
    code = target.function.__code__
    return Place(code.co_filename, code.co_firstlineno, 1)


def _annotated(target: KernelFile, found: Remarks) -> str:
    """Returns the function's source with a remark beside each of its loops."""
    from polyml.frontend.parsing.source_text import text_of
    from polyml.remarks.formats.text import annotated

    source = text_of(target.function).source
    return annotated(found, source.lines, source.first_line, source.file)
