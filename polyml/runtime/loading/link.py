"""Object code in memory, linked with what it calls."""

from __future__ import annotations

import ctypes
import itertools
import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import Protocol

from polyml.errors import CompileError
from polyml.runtime.loading import elf
from polyml.runtime.loading.assemble import llvm_binding

PARALLEL = "polyml_parallel"
MEMORY = ("polyml_acquire", "polyml_release")
_numbers = itertools.count()


class Code(Protocol):
    """A Code is linked object code in memory, which stays there as long as this object lives."""

    def address(self, symbol: str) -> int:
        """Returns the address of a symbol that the code defines and `link` was told of. Raises KeyError for any other."""


def link(objects: Sequence[bytes], symbols: tuple[str, ...], resolve: Callable[[str], int]) -> Code:
    """Loads objects into memory, linked with one another and with what `resolve` finds outside, and returns the code.

    symbols: those of which `Code.address` will be asked.
    resolve: returns the address of a symbol that no object defines; it raises CompileError where there is none.
    """
    if sys.platform == "linux":
        try:
            return elf.Image(objects, resolve)
        except elf.Unsupported:
            pass  # LLVM's linker takes what the small loader does not
    return Linked(objects, symbols, resolve)


def of_libraries(symbol: str) -> int:
    """Returns the address of a function of Python's C API, libc or libm. Raises CompileError where this system has none."""
    for library in libraries():
        try:
            address = ctypes.cast(getattr(library, symbol), ctypes.c_void_p).value
        except AttributeError:
            continue
        if address is not None:
            return address
    raise CompileError(f"the compiled code needs the symbol `{symbol}`, which this system does not have")


@cache
def libraries() -> tuple[ctypes.CDLL, ...]:
    """Returns the libraries that compiled code may call: those of this process, Python's C API among them, and libm."""
    maths = "libSystem.dylib" if sys.platform == "darwin" else "libm.so.6"
    return (ctypes.CDLL(None), ctypes.CDLL(maths, ctypes.RTLD_GLOBAL))


class Linked:
    """A Linked is object code in memory, a `Code`, where LLVM's JIT linker did the linking instead of polyml's own loader."""

    def __init__(self, objects: Sequence[bytes], symbols: tuple[str, ...], resolve: Callable[[str], int]):
        libraries()  # into the process, where the linker looks
        builder = llvm_binding().JITLibraryBuilder().add_current_process()
        for content in objects:
            builder.add_object_img(content)
        for own in (PARALLEL, *MEMORY):
            if own not in symbols and any(own.encode() in content for content in objects):
                builder.import_symbol(own, resolve(own))
        for symbol in symbols:
            builder.export_symbol(symbol)
        try:
            self._library = builder.link(_linker(), f"polyml.{next(_numbers)}")
        except RuntimeError as problem:
            raise CompileError(f"the compiled code cannot be linked: {problem}") from None

    def address(self, symbol: str) -> int:
        return self._library[symbol]


@cache
def _linker():
    llvm = llvm_binding()
    machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(reloc="pic", codemodel="small")
    return llvm.create_lljit_compiler(machine, use_jit_link=True, suppress_errors=True)
