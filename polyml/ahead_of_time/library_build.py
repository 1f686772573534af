"""A kernel becomes a library: an object, a header, and a shared library where there is a linker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from polyml import config
from polyml.ahead_of_time import named_cpus, object_file, shared_library
from polyml.ahead_of_time.c_interface import c_entry, c_header
from polyml.ahead_of_time.c_interface.c_function import CFunction, c_function, symbol_of
from polyml.ahead_of_time.call_signature import CallSignature, parsed
from polyml.ahead_of_time.description import LibraryDescription, OutDescription
from polyml.api.function import KernelFunction
from polyml.errors import ConfigError
from polyml.frontend.syntax import ArrayType
from polyml.machines.cpu import CpuMachine
from polyml.model.core.call_interface import NEAR
from polyml.reading.input_limits import shown
from polyml.reading.userfiles import called, reason
from polyml.runtime.calling import signature as python_signature
from polyml.runtime.storage.size_classes import Sizes
from polyml.source import short_name

if TYPE_CHECKING:
    from polyml.pipeline.compile import Compiled

THREADS = ("pool", "openmp", "none")
OVERLAP = ("error", "run")
_TYPICAL, _LARGEST = 1000, 2**40  # a size for which tiles are chosen where none is given, and the largest one
_APART, _OVERLAPPING = "apart.", "overlapping."


@dataclass(frozen=True)
class LibraryRequest:
    """A library request says what a library is built as.

    signature: the types of the kernel's parameters, as `call_signature.parsed` reads them.
    cpu: the processor, one of `named_cpus.names()`.
    threads: "pool": threads of the library's own; "openmp": OpenMP's; "none": calls run on the caller's thread.
    overlap: what a call does whose written arrays share memory with others: "error" returns a number, "run" follows the source's
        order exactly, with code that is built in for it.
    typical: {size: value} for which tiles are chosen; the code is right for all sizes.
    name: of the function and the files; "": the kernel's.
    is_shared: whether a shared library is linked.
    """

    signature: str
    cpu: str = "native"
    threads: str = "pool"
    overlap: str = "error"
    typical: Mapping[str, int] = field(default_factory=dict)
    name: str = ""
    is_shared: bool = True


@dataclass(frozen=True)
class BuiltLibrary:
    """A built library is the files that `build` wrote.

    shared: the shared library; None where there is none, for the reason in `note`.
    """

    object: Path
    header: Path
    shared: Path | None
    note: str = ""


def build(kernel: KernelFunction, wanted: LibraryRequest, folder: str | PathLike) -> BuiltLibrary:
    """Builds a library of a kernel in a folder, which is made where it does not exist, and returns its files.

    Raises ConfigError for a request that cannot be met, and what the compiler raises for a kernel that is not compiled as a whole.
    """
    for option, value, accepted in (("threads", wanted.threads, THREADS), ("overlap", wanted.overlap, OVERLAP)):
        if value not in accepted:
            raise ConfigError(f"--{option} does not take {shown(value)}", notes=[f"it takes {', '.join(accepted)}"])
    symbol = symbol_of(wanted.name or kernel.__name__)
    signature = parsed(wanted.signature, python_signature.parameters(kernel.py_func))
    machine = named_cpus.processor(wanted.cpu)
    if "linux" not in machine.triple:
        raise ConfigError(f"libraries are built for Linux, not for {machine.triple}", notes=["--cpu names a processor with Linux"])
    forms = _compiled(kernel, signature, wanted, machine)
    apart = forms[0].artifact
    checks = tuple(check for form in forms for check in form.artifact.checks)
    function = c_function(symbol, signature, apart, checks, _failing(signature, forms))
    has_threads = wanted.threads != "none"
    exported = {symbol, f"{symbol}_error", c_entry.DESCRIPTION} | ({f"{symbol}_set_threads"} if has_threads else set())
    content = object_file.object_of(_parts(function, forms, wanted, machine), machine, frozenset(exported))
    code = kernel.py_func.__code__
    made_of = f"{kernel.__name__}({signature}) of {short_name(code.co_filename)}:{code.co_firstlineno}"
    return _written(Path(folder), function, wanted, machine, content, made_of)


def _compiled(kernel: KernelFunction, signature: CallSignature, wanted: LibraryRequest, machine: CpuMachine) -> list[Compiled]:
    """Returns the compiled forms of the kernel without machine code: for arrays apart, and for overlapping ones where they are to
    run.
    """
    options = replace(config.resolve(kernel.settings), threads=1 if wanted.threads == "none" else 2)
    types = tuple(a.type for a in signature.arguments)
    layouts = ("C",) * sum(isinstance(t, ArrayType) for t in types)
    sizes = _sizes(signature, wanted.typical)

    def made() -> list[Compiled]:
        from polyml.pipeline import compile as pipeline
        from polyml.schedule.script.schedule import TEXT

        found = []
        for aliased in (False, True) if wanted.overlap == "run" else (False,):
            request = pipeline.CompileRequest(types, layouts, options, aliased, None if aliased else sizes, machine, restarts=False)
            given = None if aliased else kernel._given
            found.append(pipeline.compile(kernel._parsed(), request, given=given, emits=TEXT))
        return found

    return kernel._compiling(made)


def _sizes(signature: CallSignature, typical: Mapping[str, int]) -> Sizes | None:
    """Returns for which sizes tiles are chosen, such that sizes of different names have no relation that other calls might not have;
    None where there is no array.
    """
    names = dict.fromkeys(e.name for a in signature.arguments for e in a.extents if e.name)
    unknown = [name for name in typical if name not in names]
    if unknown:
        known = ", ".join(names) or "no size"
        raise ConfigError(f"-D names {shown(unknown[0])}, which the signature does not have", notes=[f"it has {known}"])
    if any(not 0 < value < _LARGEST for value in typical.values()):
        raise ConfigError("-D takes sizes from 1 to 2**40 - 1")
    extents = [e for a in signature.arguments for e in a.extents]
    values: dict[str, int] = {}
    for name in names:
        value = typical.get(name, _TYPICAL)
        used = {e.offset + values.get(e.name, 0) for e in extents if not e.name or e.name in values}
        own = [e.offset for e in extents if e.name == name]
        while any(abs(value + mine - other) <= NEAR for mine in own for other in used):
            value += 1
        values[name] = max(value, 1 - min(own))
    arrays = [(a.name, tuple(e.offset + values.get(e.name, 0) for e in a.extents)) for a in signature.arguments if a.extents]
    limits = tuple((name, ((0, _LARGEST),) * len(shape)) for name, shape in arrays)
    return Sizes(tuple(arrays), limits) if arrays else None


def _failing(signature: CallSignature, forms: list[Compiled]) -> frozenset[int]:
    from polyml.ahead_of_time.possible_failures import possible

    found, offset = set(), 0
    for form in forms:
        found |= {offset + number for number in possible(signature, form.scop.parameters, form.program.scop.checks)}
        offset += len(form.artifact.checks)
    return frozenset(found)


def _parts(function: CFunction, forms: list[Compiled], wanted: LibraryRequest, machine: CpuMachine) -> list[object_file.LlvmPart]:
    """Returns the LLVM texts that a library's object is made of."""
    from polyml.codegen.llvm.emit import ENTRY

    apart, *others = forms
    symbols = c_entry.KernelForms(f"{_APART}{ENTRY}", f"{_OVERLAPPING}{ENTRY}" if others else "", len(apart.artifact.checks))
    has_threads = wanted.threads != "none"
    own = c_entry.entry(function, apart.artifact, symbols, has_threads)
    own_names = [function.symbol, f"{function.symbol}_error", c_entry.DESCRIPTION]
    names = {name: name for name in own_names}
    text = own + c_entry.error_text(function.symbol, function.codes)
    text += c_entry.described(_description(function, wanted, machine).to_text())
    parts = [object_file.LlvmPart(text, names)]
    parts += [object_file.LlvmPart(f.llvm, prefix=p) for f, p in zip(forms, (_APART, _OVERLAPPING))]
    set_threads = {object_file.SET_THREADS: f"{function.symbol}_set_threads"}
    parts += [replace(p, names=set_threads) for p in object_file.thread_parts(wanted.threads, machine)]
    return [*parts, object_file.memory_part()]


def _description(function: CFunction, wanted: LibraryRequest, machine: CpuMachine) -> LibraryDescription:
    outs = [OutDescription(out.dtype, None if out.array is None else function.extents(out)) for out in function.outs]
    return LibraryDescription(
        function.symbol, function.symbol, function.signature, function.written, tuple(outs), function.results, function.is_tuple,
        function.codes, machine.isa, machine.vector_bytes, machine.fma, wanted.cpu, wanted.threads,
    )  # fmt: skip


def _written(
    folder: Path, function: CFunction, wanted: LibraryRequest, machine: CpuMachine, content: bytes, made_of: str
) -> BuiltLibrary:
    """Writes the files of a library. content: the object; made_of: words for the kernel."""
    name = function.symbol
    made = BuiltLibrary(folder / f"{name}.o", folder / f"{name}.h", folder / f"{name}.so")
    text = c_header.header(function, made_of, f"{wanted.cpu} ({machine.cpu_name})", wanted.threads != "none")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        made.object.write_bytes(content)
        made.header.write_text(text, encoding="utf-8")
    except (OSError, ValueError) as problem:
        raise ConfigError(f"{called(folder)} cannot be written to: {reason(problem)}") from None
    if not wanted.is_shared:
        return replace(made, shared=None, note="no shared library was asked for")
    command = shared_library.linker(machine, wanted.threads)
    if command is None:
        needed = shared_library.needed(machine, wanted.threads)
        if named_cpus.is_host(machine):
            raise ConfigError(
                f"there is no linker for a shared library: none of {needed} is installed",
                notes=[f"{called(made.object)} and {called(made.header)} are written", "--object-only asks for no more"],
            )
        return replace(made, shared=None, note=f"no shared library: there is no {needed} that links for {machine.isa}")
    shared_library.linked(command, made.object, folder / f"{name}.so")
    return made
