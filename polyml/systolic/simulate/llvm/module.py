"""LLVM functions of loops over vectors in memory, and modules of them as functions that can be called."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache

from polyml.codegen.llvm import builder
from polyml.codegen.llvm.builder import FunctionBuilder, Unit
from polyml.codegen.llvm.ssa_value import memory_type
from polyml.dtypes import DType
from polyml.machines import cpu
from polyml.runtime.loading import assemble, load

MOST_LOADED = 64  # modules that stay in memory


class LoadedFunction:
    """A LoadedFunction is the LLVM function `i64 @NAME(ptr %words)`, compiled and loaded into this process; it can be called."""

    def __init__(self, name: str, text: str):
        host = cpu.host()
        self._code = load.load(assemble.assemble_together([text], cpu=host.cpu_name, features=host.features), name)
        self._call = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(self._code.address(name))

    def __call__(self, words_address: int) -> None:
        """Calls the function with the address of a vector of 64-bit words."""
        self._call(words_address)


def loaded(name: str, units: Sequence[Unit]) -> LoadedFunction:
    """Returns the named function of a module with these functions, which is compiled and loaded once."""
    return _loaded(name, builder.text(units))


@lru_cache(maxsize=MOST_LOADED)
def _loaded(name: str, text: str) -> LoadedFunction:
    """Returns the named function of the module with this LLVM text, compiled and loaded."""
    return LoadedFunction(name, text)


class VectorFunction(FunctionBuilder):
    """A VectorFunction is an LLVM function that is being written. Vectors are pointers; indices and integers are i64."""

    def __init__(self, label: str, signature: str):
        self.label = label
        super().__init__(signature)

    def integer(self, operation: str, left: str | int, right: str | int) -> str:
        """Writes an operation on two integers, and returns the value of its result."""
        return self.emit(f"{operation} i64 {left}, {right}")

    def at(self, kind: str, vector: str, index: str | int) -> str:
        """Writes the address of an element of a vector, and returns its value."""
        return self.emit(f"getelementptr {kind}, ptr {vector}, i64 {index}")

    def get(self, words: str, index: str | int, kind: str = "i64") -> str:
        """Writes a load of one word, an integer or a pointer, and returns its value."""
        return self.emit(f"load {kind}, ptr {self.at('i64', words, index)}")

    def put(self, words: str, index: str | int, value: str) -> None:
        """Writes a store of one word."""
        self.do(f"store i64 {value}, ptr {self.at('i64', words, index)}")

    def copy(self, kind: DType, here: str, index: str, there: str, other: str) -> None:
        """Writes there[other] = here[index], for elements of the type `kind`."""
        value = self.emit(f"load {memory_type(kind)}, ptr {self.at(memory_type(kind), here, index)}")
        self.do(f"store {memory_type(kind)} {value}, ptr {self.at(memory_type(kind), there, other)}")

    def loop(self, first: str | int, end: str | int, each: Callable[[str], None], step: str | int = 1) -> None:
        """Writes the loop `for k = first; k < end; k += step`, whose body `each` writes from the value of k."""
        before, body, after = self.current, self.block("event"), self.block("events")
        self.branch(self.emit(f"icmp slt i64 {first}, {end}"), body, after)
        self.current, k = body, self.name()
        each(k)
        next_ = self.integer("add", k, step)
        body.phis.append(f"{k} = phi i64 [ {first}, %{before.label} ], [ {next_}, %{self.current.label} ]")
        self.branch(self.emit(f"icmp slt i64 {next_}, {end}"), body, after)
        self.current = after
