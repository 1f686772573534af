"""Compiled kernels called directly: a program as machine code of one of the presets, its slots filled by hand."""

import ctypes
import struct
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from polyml.codegen.astgen.build import build
from polyml.codegen.ir.program import Instance
from polyml.codegen.llvm import builder
from polyml.codegen.llvm.addresses import ArrayArguments
from polyml.codegen.llvm.arithmetic import FloatArithmetic
from polyml.codegen.llvm.emit import ENTRY, emit
from polyml.codegen.passes.full_tiles import separate_full_tiles
from polyml.codegen.passes.vectorize import vectorize
from polyml.frontend.interpreter import interpret
from polyml.frontend.parsing.parse import parse
from polyml.frontend.syntax import ArrayType
from polyml.machines import catalogue, cpu
from polyml.model.core.dependence import dependences
from polyml.model.core.reductions import reductions, scans
from polyml.model.core.scop import Role, ScalarResult
from polyml.model.scop_passes.scalar_expansion import expand
from polyml.runtime.loading import assemble, load
from polyml.schedule.compute import ScheduleRequest, compute
from tests.codegen.samples import scop_of

_NEEDS = {"sse2": set(), "avx2": {"avx2", "fma"}, "avx512": {"avx512f", "avx512vl", "avx512bw", "avx512dq"}}


@cache
def presets():
    """The presets whose code this machine runs."""
    if cpu.host().isa != "x86-64":
        return ()
    return tuple(name for name, needed in _NEEDS.items() if needed <= cpu.cpu_flags())


WIDE = presets()[1:] or presets()  # the widest ones, beside which narrower ones show nothing new


def in_lanes(program):
    """statement -> how many of its instances share a vector, of those that do."""
    found = {}

    def visit(nodes, lanes):
        for node in nodes:
            if not isinstance(node, Instance):
                visit(node.body, max(lanes, getattr(node, "lanes", 1)))
            elif lanes > 1:
                found[node.statement] = lanes

    visit(program.body, 1)
    return found


def program_of(function, arguments, preset, *, fp="strict", form="auto", layouts=None):
    """form: "auto" as the compiler does it, "source" for the source's order with vectors, "plain" without any.

    layouts: per array, by default what the arguments have.
    """
    scop = scop_of(function, arguments)
    free = reductions(scop, fp)
    if form == "plain":
        return build(scop, scop.schedule, free)
    target = catalogue.processor(preset)
    tree = scop.schedule
    if form == "auto":
        scop = expand(scop)
        tree = compute(scop, dependences(scop), ScheduleRequest(target, tile=True, parallel=True)).tree
    program = replace(build(scop, tree, free), scans=scans(scop, fp))
    return vectorize(separate_full_tiles(program), target, layouts or layouts_of(arguments))


def layouts_of(arguments):
    return tuple(layout(value) for value in arguments.values() if isinstance(value, np.ndarray))


def layout(array):
    """ "C": neighbours in the last dimension are neighbours in memory, "F": in the first one, "A": neither."""
    if not array.ndim or array.shape[-1] <= 1 or array.strides[-1] == array.itemsize:
        return "C"
    return "F" if array.shape[0] <= 1 or array.strides[0] == array.itemsize else "A"


@dataclass(frozen=True)
class Native:
    """Machine code of a program. text: its LLVM text."""

    scop: object
    text: str
    code: object

    def __call__(self, arguments, threads=1):
        """(status, results): what the kernel answers, and the values of its results in order."""
        words = [threads]
        for name, kind in zip(self.scop.params, self.scop.types):
            words += array_words(arguments[name]) if isinstance(kind, ArrayType) else [number_word(arguments[name])]
        sizes = {p.name: size_of(p, arguments) for p in self.scop.parameters}
        arrays, numbers = {}, []
        for array in self.scop.arrays.values():
            if array.role is Role.RESULT:
                shape = [extent_of(extent, sizes) for extent in array.shape]
                arrays[array.name] = np.empty(shape, array.element.numpy_name)
                words += array_words(arrays[array.name])
        first = len(words)
        numbers = [r for r in self.scop.results if isinstance(r, ScalarResult)]
        slots = (ctypes.c_int64 * (first + len(numbers) + 1))(*words)
        kernel = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(self.code.address(ENTRY))
        status = kernel(ctypes.addressof(slots))
        values = iter(slots[first : first + len(numbers)])
        results = [
            number_of(next(values), self.scop.arrays[r.array].element) if isinstance(r, ScalarResult)
            else arrays.get(r.array, arguments.get(r.array))
            for r in self.scop.results
        ]  # fmt: skip
        return status, results


def native(program, preset, *, fp="strict", layouts, aliased=False):
    target = catalogue.processor(preset)
    units = emit(program, ArrayArguments(layouts, aliased), FloatArithmetic(fp, target.fma))
    objects = assemble.assemble_together([builder.text([unit]) for unit in units], cpu=target.cpu_name, features=target.features)
    return Native(program.scop, builder.text(units), load.load(objects, ENTRY))


def compiled(function, arguments, preset, *, fp="strict", form="auto", layouts=None):
    program = program_of(function, arguments, preset, fp=fp, form=form, layouts=layouts)
    return native(program, preset, fp=fp, layouts=layouts or layouts_of(arguments))


def array_words(array):
    return [array.__array_interface__["data"][0], *array.shape, *array.strides]


def number_word(value):
    if isinstance(value, np.float32):
        return struct.unpack("<I", struct.pack("<f", value))[0]
    if isinstance(value, float):
        return struct.unpack("<q", struct.pack("<d", value))[0]
    return int(np.int64(np.uint64(int(value) & (2**64 - 1))))


def number_of(word, dtype):
    raw = struct.pack("<q", word)
    if dtype.kind == "b":
        return bool(raw[0])
    return np.frombuffer(raw, dtype.numpy_name)[0]


def size_of(parameter, arguments):
    if parameter.array is None:
        return int(arguments[parameter.argument or parameter.name])
    return arguments[parameter.array].shape[parameter.dim]


def extent_of(extent, sizes):
    """{ [] -> [(N)] } for the sizes."""
    text = str(extent)
    inside = text[text.index("[(", text.index("{")) + 2 : text.rindex(")]")]
    return eval(inside, dict(sizes))


def copied(arguments):
    """Arguments of their own, each array in the memory layout it had."""
    return {name: relaid(value) if isinstance(value, np.ndarray) else value for name, value in arguments.items()}


GUARD_BYTES = 128  # around each array


def relaid(array):
    """A copy with the same strides, in memory of its own (its `base`) with a margin on both sides."""
    if array.size == 0:
        return array.copy()
    lows = [min(0, (n - 1) * s) for n, s in zip(array.shape, array.strides)]
    highs = [max(0, (n - 1) * s) for n, s in zip(array.shape, array.strides)]
    room = np.full(sum(highs) - sum(lows) + array.itemsize + 2 * GUARD_BYTES + 64, 0x5A, np.uint8)
    start = -room.ctypes.data % 64 + GUARD_BYTES + array.ctypes.data % array.itemsize - sum(lows)
    new = np.ndarray(array.shape, array.dtype, room, start, array.strides)
    new[...] = array
    return new


def assert_nothing_beside(array):
    """The margin and the gaps of what `relaid` made are as they were."""
    if isinstance(array, np.ndarray) and array.size:
        elements = np.zeros_like(array.base)
        start = array.ctypes.data - array.base.ctypes.data
        bytes_of = np.ndarray((*array.shape, array.itemsize), np.uint8, elements, start, (*array.strides, 1))
        bytes_of[...] = 1
        np.testing.assert_array_equal(array.base[elements == 0], 0x5A)


def defined(function, arguments):
    """What the language says: the arguments after the call, and the result."""
    after = copied(arguments)
    with np.errstate(all="ignore"):
        result = interpret(parse(function), list(after.values()))
    return after, result


def bits(value):
    """The bits of numbers, every NaN the same."""
    value = np.asarray(value)
    if value.dtype.kind != "f":
        return value
    unsigned = np.ascontiguousarray(value).view(f"u{value.itemsize}").reshape(value.shape)
    return np.where(np.isnan(value), np.iinfo(unsigned.dtype).max, unsigned)


def assert_as_defined(function, arguments, kernel, threads=1):
    """The compiled kernel leaves the same bits behind as the language's interpreter."""
    wanted, result = defined(function, arguments)
    got = copied(arguments)
    status, results = kernel(got, threads)
    assert status == 0
    for name, value in wanted.items():
        np.testing.assert_array_equal(bits(got[name]), bits(value), err_msg=name)
    wanted_results = result if isinstance(result, tuple) else () if result is None else (result,)
    assert len(results) == len(wanted_results)
    for mine, other in zip(results, wanted_results):
        np.testing.assert_array_equal(bits(mine), bits(other))
    for value in got.values():
        assert_nothing_beside(value)
