"""The function of a library in LLVM text: it checks what a C program passes, and calls the kernel with the words of `codegen.ir.abi`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polyml.ahead_of_time.c_interface.c_function import CFunction
from polyml.ahead_of_time.c_interface.extent_code import emitted
from polyml.ahead_of_time.call_signature import LibraryArgument, SizeExtent
from polyml.ahead_of_time.status_codes import OVERLAP, POINTER, REGION, SIZES, StatusCode
from polyml.codegen.llvm.builder import FunctionBuilder
from polyml.dtypes import DType
from polyml.frontend.syntax import ArrayType
from polyml.model.core.call_interface import FIRST_FAILURE, LEAST_STATUS, ArrayResult, ScalarResult
from polyml.runtime.calling.binding import pairs, slot_count
from polyml.runtime.storage.artifact import Artifact

THREADS = "polyml_threads_in_use"  # how many threads a call runs on; part of what the library runs threads with
DESCRIPTION = "polyml_description"  # the symbol by which `polyml.load` finds what a library is
_GREATEST = 2**60  # a size
_MULTIPLY = "declare {i64, i1} @llvm.umul.with.overflow.i64(i64, i64)"


@dataclass(frozen=True)
class KernelForms:
    """The kernel forms are the symbols of `i64 kernel(ptr slots)`.

    apart: for arrays that do not overlap.
    overlapping: for those that do; "": such calls are refused.
    offset: what is added to the numbers of failed tests that `overlapping` returns, so that each has a number of its own.
    """

    apart: str
    overlapping: str = ""
    offset: int = 0


@dataclass(frozen=True)
class _Memory:
    """A _Memory is an array of a call: SSA names of its address, its extents and its size in bytes, and the size of an element."""

    address: str
    extents: tuple[str, ...]
    size: str
    item: int


def entry(function: CFunction, artifact: Artifact, forms: KernelForms, has_threads: bool) -> str:
    """Returns the LLVM text of a library's function."""
    made = _Entry(function, artifact)
    made.read_sizes()
    made.check_arrays()
    overlap = made.overlap(is_refused=not forms.overlapping)
    made.fill(f"call i64 @{THREADS}()" if has_threads else "add i64 0, 1")
    made.run(forms, overlap)
    declared = {f"declare i64 @{each}(ptr)" for each in (forms.apart, forms.overlapping) if each}
    declared |= {f"declare i64 @{THREADS}()"} if has_threads else set()
    return "\n".join([*sorted(declared), _MULTIPLY, made.text()]) + "\n"


def error_text(symbol: str, codes: Sequence[StatusCode]) -> str:
    """Returns the LLVM text of `const char *SYMBOL_error(int status)`, which has the words for each number."""
    constants, cases, blocks = [], [], []
    for place, code in enumerate(codes):
        content = _bytes(code.text.encode() + b"\0")
        constants.append(f'@{symbol}.text{place} = internal constant [{len(code.text.encode()) + 1} x i8] c"{content}"')
        cases.append(f"i32 {code.number}, label %c{place}")
        blocks.append(f"c{place}:\n  ret ptr @{symbol}.text{place}")
    unknown = b"no number that this function returns\0"
    constants.append(f'@{symbol}.unknown = internal constant [{len(unknown)} x i8] c"{_bytes(unknown)}"')
    body = [f"  switch i32 %status, label %other [ {' '.join(cases)} ]", *blocks, "other:", f"  ret ptr @{symbol}.unknown"]
    return "\n".join([*constants, f"define ptr @{symbol}_error(i32 %status) nounwind {{", *body, "}"]) + "\n"


def described(content: str) -> str:
    """Returns the LLVM text of the constant by which `polyml.load` knows a library. It is weak, since a program may have several."""
    data = content.encode() + b"\0"
    return f'@{DESCRIPTION} = weak constant [{len(data)} x i8] c"{_bytes(data)}"\n'


def _bytes(content: bytes) -> str:
    return "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in content)


def _scalar_type(dtype: DType) -> str:
    """Returns LLVM's type of a number as C passes it."""
    if dtype.kind == "f":
        return {64: "double", 32: "float", 16: "i16"}[dtype.bits]
    return f"i{dtype.bits}"


class _Entry:
    """An _Entry emits the function, step by step."""

    def __init__(self, function: CFunction, artifact: Artifact):
        self._function, self._artifact = function, artifact
        self._arguments = function.signature.arguments
        self._ssa: dict[str, str] = {}  # what C passes, by the kernel's names: %p0, %p1, ...
        self._integers: dict[str, str] = {}  # sizes and integer parameters as i64
        self._memory: dict[str, _Memory] = {}
        self._fn = FunctionBuilder(f"i32 @{function.symbol}({', '.join(self._parameters())})")
        self._slots = self._fn.emit(f"alloca [{slot_count(artifact)} x i64], align 64")
        self._end = 0

    def text(self) -> str:
        return self._fn.text()

    def _parameters(self) -> list[str]:
        made: list[str] = []

        def parameter(kind: str) -> str:
            made.append(f"{kind} %p{len(made)}")
            return f"%p{len(made) - 1}"

        for argument in self._arguments:
            if isinstance(argument.type, ArrayType):
                self._ssa[argument.name] = parameter("ptr")
            elif argument.type.dtype.is_complex:
                part = _scalar_type(argument.type.dtype.part)
                self._ssa[argument.name] = parameter(part)
                self._ssa[f"{argument.name}.imag"] = parameter(part)
            else:
                self._ssa[argument.name] = parameter(_scalar_type(argument.type.dtype))
        for out in self._function.outs:
            self._ssa[f"out {out.name}"] = parameter("ptr")
        for size in self._function.signature.sizes:
            self._ssa[size] = self._integers[size] = parameter("i64")
        return made

    def _stop_if(self, test: str, status: int) -> None:
        """Emits a return of `status` where the test, an i1, holds."""
        fn = self._fn
        stop, go = fn.block("stop"), fn.block("go")
        fn.branch(test, stop, go)
        stop.terminator = f"ret i32 {status}"
        fn.current = go

    def read_sizes(self) -> None:
        """Emits the integers that extents are made of, and the test that they are sizes."""
        for argument in self._arguments:
            if not isinstance(argument.type, ArrayType) and (argument.type.dtype.is_integer or argument.type.dtype.kind == "b"):
                self._integers[argument.name] = self._word(argument.type.dtype, self._ssa[argument.name])
        used = {e.name for a in self._arguments for e in a.extents if e.name}
        for name in sorted(used | {*self._function.signature.sizes}):
            self._stop_if(self._fn.emit(f"icmp ugt i64 {self._integers[name]}, {_GREATEST}"), SIZES)

    def check_arrays(self) -> None:
        """Emits the size of each array, and the tests of sizes and pointers."""
        for argument in self._arguments:
            if isinstance(argument.type, ArrayType):
                self._memory[argument.name] = self._array(argument, argument.type.element)
        names = {
            p.name: self._parameter(p.array, p.dim, p.argument or p.name)
            for p in self._artifact.parameters
            if p.is_size or p.is_number
        }
        for out in self._function.outs:
            address = self._ssa[f"out {out.name}"]
            if out.array is None:
                self._check_pointer(address, "1", out.dtype.part)
                continue
            extents = tuple(self._not_negative(emitted(each, names, self._fn)) for each in out.array.shape)
            size = self._size(out.dtype.size_bytes, extents)
            self._check_pointer(address, size, out.dtype.part)
            self._memory[f"out {out.array.name}"] = _Memory(address, extents, size, out.dtype.size_bytes)

    def _parameter(self, array: str | None, dim: int, argument: str) -> str:
        """Returns the SSA name of a parameter of the artifact: a size of an array, or an integer argument."""
        return self._integers[argument] if array is None else self._memory[array].extents[dim]

    def _not_negative(self, extent: str) -> str:
        return self._fn.emit(f"select i1 {self._fn.emit(f'icmp slt i64 {extent}, 0')}, i64 0, i64 {extent}")

    def _array(self, argument: LibraryArgument, element: DType) -> _Memory:
        extents = tuple(map(self._extent, argument.extents))
        for extent, given in zip(extents, argument.extents):
            if given.name and given.offset < 0:
                self._stop_if(self._fn.emit(f"icmp slt i64 {extent}, 0"), SIZES)
        size = self._size(element.size_bytes, extents)
        self._check_pointer(self._ssa[argument.name], size, element.part)
        return _Memory(self._ssa[argument.name], extents, size, element.size_bytes)

    def _extent(self, extent: SizeExtent) -> str:
        if not extent.name:
            return str(extent.offset)
        value = self._integers[extent.name]
        return self._fn.emit(f"add i64 {value}, {extent.offset}") if extent.offset else value

    def _size(self, item: int, extents: Sequence[str]) -> str:
        """Emits the size of an array in bytes, and the test that it is below 2**63."""
        fn, size, lost = self._fn, str(item), "false"
        for extent in extents:
            pair = fn.emit(f"call {{i64, i1}} @llvm.umul.with.overflow.i64(i64 {size}, i64 {extent})")
            size = fn.emit(f"extractvalue {{i64, i1}} {pair}, 0")
            lost = fn.emit(f"or i1 {lost}, {fn.emit(f'extractvalue {{i64, i1}} {pair}, 1')}")
        self._stop_if(fn.emit(f"or i1 {lost}, {fn.emit(f'icmp slt i64 {size}, 0')}"), SIZES)
        return size

    def _check_pointer(self, address: str, size: str, part: DType) -> None:
        """Emits the test that the pointer of an array that has elements is not null, and a multiple of the element's size."""
        fn = self._fn
        bits = fn.emit(f"ptrtoint ptr {address} to i64")
        odd = fn.emit(f"icmp ne i64 {fn.emit(f'and i64 {bits}, {part.size_bytes - 1}')}, 0")
        wrong = fn.emit(f"or i1 {fn.emit(f'icmp eq i64 {bits}, 0')}, {odd}")
        self._stop_if(fn.emit(f"and i1 {wrong}, {fn.emit(f'icmp ne i64 {size}, 0')}"), POINTER)

    def overlap(self, is_refused: bool) -> str:
        """Emits whether a written argument shares memory with another one, an i1, and returns its SSA name; result arrays must not
        share memory with anything.

        is_refused: whether the function returns where arguments do.
        """
        names = [a.name for a in self._arguments]
        results = [name for name in self._memory if name.startswith("out ")]
        arrays = [a.name for a in self._arguments if isinstance(a.type, ArrayType)]
        for place, result in enumerate(results):
            for other in (*arrays, *results[:place]):
                self._stop_if(self._share(result, other), OVERLAP)
        found = "false"
        for i, j in pairs(self._artifact):
            found = self._fn.emit(f"or i1 {found}, {self._share(names[i], names[j])}")
        if is_refused and found != "false":
            self._stop_if(found, OVERLAP)
        return found

    def _share(self, a: str, b: str) -> str:
        fn, ends = self._fn, []
        for each in (a, b):
            memory = self._memory[each]
            start = fn.emit(f"ptrtoint ptr {memory.address} to i64")
            ends.append((start, fn.emit(f"add i64 {start}, {memory.size}"), fn.emit(f"icmp ne i64 {memory.size}, 0")))
        (a_start, a_end, a_some), (b_start, b_end, b_some) = ends
        before, after = fn.emit(f"icmp ult i64 {a_start}, {b_end}"), fn.emit(f"icmp ult i64 {b_start}, {a_end}")
        both = fn.emit(f"and i1 {a_some}, {b_some}")
        return fn.emit(f"and i1 {both}, {fn.emit(f'and i1 {before}, {after}')}")

    def fill(self, threads: str) -> None:
        """Emits the stores of the words that the kernel takes. threads: an instruction, the number of threads."""
        self._put(self._fn.emit(threads))
        for argument in self._arguments:
            if isinstance(argument.type, ArrayType):
                self._put_array(self._memory[argument.name])
                continue
            dtype = argument.type.dtype
            self._put(self._word(dtype.part, self._ssa[argument.name]))
            if dtype.is_complex:
                self._put(self._word(dtype.part, self._ssa[f"{argument.name}.imag"]))
        for array in self._artifact.result_arrays:
            self._put_array(self._memory[f"out {array.name}"])

    def _put(self, value: str) -> None:
        address = self._fn.emit(f"getelementptr i64, ptr {self._slots}, i64 {self._end}")
        self._fn.do(f"store i64 {value}, ptr {address}")
        self._end += 1

    def _put_array(self, memory: _Memory) -> None:
        """Emits the stores of an array's address, extents and strides in bytes; it is stored row by row."""
        self._put(self._fn.emit(f"ptrtoint ptr {memory.address} to i64"))
        strides: list[str] = []
        for dim in reversed(range(len(memory.extents))):
            step = self._fn.emit(f"mul i64 {strides[0]}, {memory.extents[dim + 1]}") if strides else str(memory.item)
            strides.insert(0, step)
        for value in (*memory.extents, *strides):
            self._put(value)

    def _word(self, dtype: DType, value: str) -> str:
        """Emits the 64-bit word of a number that C passes."""
        fn = self._fn
        if dtype.kind == "b":
            return fn.emit(f"zext i1 {fn.emit(f'icmp ne i8 {value}, 0')} to i64")
        if dtype.kind == "f" and dtype.bits > 16:
            bits = fn.emit(f"bitcast {_scalar_type(dtype)} {value} to i{dtype.bits}")
            return bits if dtype.bits == 64 else fn.emit(f"zext i32 {bits} to i64")
        if dtype.bits == 64:
            return value
        return fn.emit(f"{'sext' if dtype.kind == 'i' else 'zext'} i{dtype.bits} {value} to i64")

    def run(self, forms: KernelForms, overlap: str) -> None:
        """Emits the call of the kernel, and the stores of returned numbers. overlap: an i1, whether arguments share memory."""
        fn = self._fn
        apart, done, ended = fn.block("apart"), fn.block("done"), fn.block("ended")
        found = []
        ways = [(forms.apart, apart)]
        if forms.overlapping:
            ways.append((forms.overlapping, fn.block("overlapping")))
            fn.branch(overlap, ways[1][1], apart)
        else:
            fn.jump(apart)
        for symbol, block in ways:
            fn.current = block
            status = fn.emit(f"call i64 @{symbol}(ptr {self._slots})")
            if symbol == forms.overlapping and forms.offset:
                moved = fn.emit(f"add i64 {status}, {forms.offset}")
                status = fn.emit(f"select i1 {fn.emit(f'icmp sgt i64 {status}, 0')}, i64 {moved}, i64 {status}")
            found.append(f"[ {status}, %{block.label} ]")
            fn.jump(done)
        fn.current = done
        status = fn.emit(f"phi i64 {', '.join(found)}")
        well = fn.block("well")
        fn.branch(fn.emit(f"icmp eq i64 {status}, 0"), well, ended)
        fn.current = well
        self._store_numbers(self._returned())
        fn.current.terminator = "ret i32 0"
        fn.current = ended
        is_far = fn.emit(f"icmp sge i64 {status}, {FIRST_FAILURE}"), fn.emit(f"icmp slt i64 {status}, {LEAST_STATUS}")
        status = fn.emit(f"select i1 {fn.emit(f'or i1 {is_far[0]}, {is_far[1]}')}, i64 {REGION}, i64 {status}")
        fn.current.terminator = f"ret i32 {fn.emit(f'trunc i64 {status} to i32')}"

    def _returned(self) -> Mapping[str, int]:
        """Returns {name of an out parameter that is a number: how many words it has}."""
        return {out.name: 1 + out.dtype.is_complex for out in self._function.outs if out.array is None}

    def _store_numbers(self, words: Mapping[str, int]) -> None:
        kinds = [r.dtype for r in self._artifact.results if isinstance(r, ScalarResult)]
        assert sum(words.values()) == len(kinds) and all(isinstance(r, (ArrayResult, ScalarResult)) for r in self._artifact.results)
        fn, place = self._fn, 0
        for name, count in words.items():
            for part in range(count):
                bits = 8 if kinds[place].kind == "b" else kinds[place].bits
                address = fn.emit(f"getelementptr i64, ptr {self._slots}, i64 {self._end + place}")
                value = fn.emit(f"load i{bits}, ptr {address}")
                to = fn.emit(f"getelementptr i{bits}, ptr {self._ssa[f'out {name}']}, i64 {part}")
                fn.do(f"store i{bits} {value}, ptr {to}")
                place += 1
