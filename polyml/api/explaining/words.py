"""What was compiled and why, as text for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polyml.config import Options
from polyml.errors import PolymlError
from polyml.frontend.syntax import ArgType, ArrayType
from polyml.reasons import remedy
from polyml.runtime.storage.artifact import Artifact

_MEANING = {"C": "", "F": ", first dimension contiguous", "A": ", any strides"}


def signature(types: Sequence[ArgType], layouts: Sequence[str]) -> str:
    """Returns argument types as a text such as (float, f64[:, :], f64[:] A), with the layout of each array whose layout is not
    C.
    """
    remaining = iter(layouts)
    shown = []
    for kind in types:
        layout = next(remaining) if isinstance(kind, ArrayType) else "C"
        shown.append(str(kind) if layout == "C" else f"{kind} {layout}")
    return f"({', '.join(shown)})"


def compiled(artifact: Artifact, options: Options, timings: Mapping[str, float], from_cache: bool, where: str) -> str:
    """Returns the text of `Kernel.explain` for compiled code: arguments, settings, stages with their times, notes.

    where: the kernel's name, file and line.
    """
    lines = [f"{where}: compiled{', from the disk cache' if from_cache else ''}"]
    if artifact.aliased:
        lines.append("  for arguments that share memory: source order, one element at a time")
    lines += [f"  {line}" for line in _parameters(artifact)]
    lines.append(f"  options: {_options(options)}")
    lines.append(f"  checks at entry: {_checks(artifact)}")
    lines += [f"  {note}" for note in artifact.notes]
    lines += ["  time:", *(f"    {stage:<14} {seconds * 1e3:9.2f} ms" for stage, seconds in timings.items())]
    lines.append(f"    {'total':<14} {sum(timings.values()) * 1e3:9.2f} ms")
    return "\n".join(lines)


def python(called: str, reason: str, where: str) -> str:
    """Returns the text of `Kernel.explain` for a call that runs as plain Python.

    called: the types of the arguments as text; "" where polyml has no types for them.
    reason: why the call is not compiled.
    where: the kernel's name, file and line.
    """
    return "\n".join([f"{where}: runs as plain Python{f' for {called}' if called else ''}", *_indented(reason)])


def refused(where: str, problems: Sequence[PolymlError], partly: bool, is_part: bool) -> str:
    """Returns the text of the warning that calls of a function run as plain Python.

    where: the kernel's name, file and line.
    problems: the reasons.
    partly: whether some loops of the function are compiled nevertheless.
    is_part: whether the function was itself made of some loops of another one.
    """
    what = "a part of it runs" if is_part else "runs"
    codes = ", ".join(dict.fromkeys(problem.code for problem in problems))
    head = f"{where} {what} {'partly ' if partly else ''}as plain Python ({codes}): "
    rest = "\nIts other statements are compiled where that pays; `explain()` says which." if partly and not is_part else ""
    return head + "\n".join(map(reason, problems)) + rest


def reason(problem: PolymlError) -> str:
    """Returns an error's text with the number of the reason why the call runs as plain Python, and what to write instead."""
    text = str(problem) if problem.loc or problem.notes else problem.message
    return f"{text}\n  {problem.code}: {remedy(problem.code)}"


def simulated(target: str, runs: Sequence[tuple[str, str, int]], where: str) -> str:
    """Returns the text of `Kernel.explain` for a call that was simulated on a systolic array.

    target: the array in words.
    runs: (nest, space-time mapping, cycles) for each nest of loops.
    where: the kernel's name, file and line.
    """
    return "\n".join(
        [f"{where}: simulated on {target}", *(f"  {nest}: {mapping}; {cycles:,} cycles" for nest, mapping, cycles in runs)]
    )


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()]


def _parameters(artifact: Artifact) -> list[str]:
    layouts = iter(artifact.layouts)
    lines = []
    for name, kind in zip(artifact.params, artifact.types):
        layout = _MEANING[next(layouts)] if isinstance(kind, ArrayType) else ""
        lines.append(f"{name}: {kind}{layout}{', written' if name in artifact.written else ''}")
    return lines


def _options(options: Options) -> str:
    threads = options.threads or "all cores"
    chosen = {"fp": options.fp, "schedule": options.schedule, "fusion": options.fusion, "threads": threads}
    off = [f"no {name}" for name in ("parallel", "vectorize", "tile") if not getattr(options, name)]
    unused = ["tf32, which the target has no use for: only CUDA devices have tensor cores"] if options.tf32 else []
    unused += ["libraries, which the target has no use for: cuBLAS is for CUDA devices alone"] if options.libraries else []
    return ", ".join([*(f"{k} {v}" for k, v in chosen.items()), *off, *unused])


def _checks(artifact: Artifact) -> str:
    kinds = [check.kind for check in artifact.checks]
    if not kinds:
        return "none needed besides types and layout"
    return ", ".join(f"{kinds.count(kind)} of {kind}" for kind in dict.fromkeys(kinds))
