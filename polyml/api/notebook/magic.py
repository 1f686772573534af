"""`%%polyml`: the functions of a cell become kernels, and what was done is shown.

%%polyml --fp strict --types "f64[N,M], f64[M]" --show explain,deps
def column_sums(A, total): ...     ->   column_sums = polyml.kernel(fp="strict")(column_sums), and two texts below the cell
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FunctionType
from typing import Any

from polyml import config
from polyml.api.decorator import Kernel, kernel
from polyml.api.explaining import words
from polyml.api.inspecting.texts import StageText
from polyml.api.notebook.cell_options import EXPLAIN, NOTHING, PICTURE, REPORT, CellOptions, Given, read
from polyml.api.plotting.plot import plot
from polyml.errors import ConfigError, LanguageError, PolymlOverflowError, PolymlTypeError
from polyml.source import Loc, Source, reader_name

_OF_SOURCE = ("domain", "dependences")  # pictures of the source's order


def register(shell: Any) -> None:  # Any: IPython's shell, which this package does not need to be installed
    """Gives an IPython shell the cell magic `%%polyml`."""

    def polyml(line: str, cell: str) -> object:
        return run(shell, line, cell)

    polyml.__doc__ = run.__doc__
    shell.register_magic_function(polyml, "cell", "polyml")


def unregister(shell: Any) -> None:
    """Takes the cell magic away."""
    shell.magics_manager.magics["cell"].pop("polyml", None)


def run(shell: Any, line: str, cell: str) -> object:
    """Runs a cell whose functions become kernels, shows what was done, and returns the value of the cell's last expression.

    --types "f64[N,M], int"   show each kernel for these types, without a call; "NAME: f64[:]" of several kernels
    --show WHAT,...           explain (the default), kernel, domain, deps, schedule, ast, llvm, asm, report, picture, nothing;
                              picture:tiles is another picture than that of dependences; a report needs sizes that are numbers
    --target cuda|opencl      what the kernels run on
    --fp strict               and any other setting of polyml.config by its name
    """
    options = read(line)
    text = "\n" + shell.input_transformer_manager.transform_cell(cell)  # the line %%polyml is the first one
    file = shell.compile.cache(text, _number(shell, cell), "\n" + cell)
    body = _parsed(text, file)
    if not any(isinstance(node, ast.FunctionDef) for node in body):
        raise ConfigError("a cell of %%polyml defines a function, and this one does not", notes=["write the kernel with `def`"])
    names: dict[str, None] = {}
    result = None
    for node in body:
        if node is body[-1] and isinstance(node, ast.Expr):
            result = eval(shell.compile(ast.Expression(node.value), file, "eval"), shell.user_global_ns, shell.user_ns)
            continue
        exec(shell.compile(ast.Module([node], []), file, "exec"), shell.user_global_ns, shell.user_ns)
        if isinstance(node, ast.FunctionDef) and isinstance(shell.user_ns[node.name], FunctionType | Kernel):
            made = kernel(shell.user_ns[node.name], target=options.target, **options.settings)
            shell.user_ns[node.name] = made
            names[node.name] = None
    for each in _shown({name: shell.user_ns[name] for name in names}, options):
        _display(each)
    return result


def _number(shell: Any, cell: str) -> int:
    """Returns the number that the user sees beside the cell that runs.

    `execution_count` is that number before IPython 9, and the next cell's since, where the cell is kept in the history.
    """
    kept = shell.history_manager.input_hist_raw
    return len(kept) - 1 if cell.strip() and cell.strip() in kept[-1] else shell.execution_count


def _parsed(text: str, file: str) -> list[ast.stmt]:
    """Returns the statements of a cell. Raises LanguageError where it is no Python."""
    try:
        return ast.parse(text, file).body
    except SyntaxError as problem:
        place = Loc(Source(file, 1, tuple(text.splitlines())), problem.lineno or 1, max(1, problem.offset or 1))
        raise LanguageError(f"this is no Python: {problem.msg}", loc=place) from None


def _display(value: object) -> None:
    from IPython.display import display

    display(value)


def _shown(kernels: dict[str, Kernel], options: CellOptions) -> Iterator[object]:
    """Yields what is shown of the kernels. Raises ConfigError for types of a kernel that there is not."""
    for name in options.types:
        if name not in kernels and (name or len(kernels) != 1):
            known = ", ".join(kernels) or "none"
            told = f"the cell defines no kernel `{name}`" if name else f"the cell defines {len(kernels)} kernels"
            raise ConfigError(f"--types: {told}", notes=[f"kernels: {known}", 'as in --types "NAME: f64[:]"'])
    for name, made in kernels.items():
        types = options.types.get(name, options.types.get(""))
        for what, subject in options.shows:
            if what != NOTHING:
                yield _of(made, what, subject, types)


def _of(made: Kernel, what: str, subject: str, types: tuple[Given, ...] | None) -> object:
    if types is None and made.compiled is None and what != EXPLAIN:
        notes = ['call it in the cell, or give types, as in --types "f64[N,M], int"']
        raise ConfigError(f"--show {what} needs the types of `{made.__name__}`, which the cell does not call", notes=notes)
    texts = () if types is None else tuple(each.type for each in types)
    if what == EXPLAIN:
        return StageText(made.explain() if types is None else _explained(made, texts))
    if what == REPORT:
        if types is None:
            raise ConfigError("--show report needs sizes", notes=['as in --types "f64[1000,1000], int"'])
        found = made.report(*(each.argument() for each in types))
        return found if hasattr(found, "_repr_html_") else StageText(str(found))
    if what == PICTURE:
        return plot(made.schedule(*(("source",) if subject in _OF_SOURCE else ()), *texts), subject)
    if what == "kernel":
        return StageText(made.lower(*texts).stages["kernel"]())
    return getattr(made, f"inspect_{what}")(*texts)


def _explained(made: Kernel, types: tuple[str, ...]) -> str:
    """Returns what is compiled for types, and why, or why the kernel would run as plain Python."""
    code = made.py_func.__code__
    where = f"{made.__name__} ({reader_name(code.co_filename)}:{code.co_firstlineno})"
    try:
        compiled = made.lower(*types)
    except (LanguageError, PolymlTypeError, PolymlOverflowError) as problem:
        kinds, layouts, _ = made._signature(types)
        return words.python(words.signature(kinds, layouts), words.reason(problem), where)
    return words.compiled(compiled.artifact, config.resolve(made.settings), compiled.timings, False, where)
