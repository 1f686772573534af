"""Sums of products of small numbers by instructions: what NumPy computes, on whole words and what is left over of them."""

import re
from dataclasses import replace

import numpy as np
import pytest

import polyml
from polyml import config
from polyml.codegen.dot_products.instructions import use
from polyml.codegen.interpreter import run
from polyml.codegen.ir.program import Unroll, every
from polyml.codegen.text import reader, writer
from polyml.dtypes import BY_NUMPY_NAME, I32
from polyml.frontend.syntax import ArrayType
from polyml.machines import catalogue, cpu
from polyml.pipeline.compile import CompileRequest, compile
from polyml.runtime.storage.size_classes import Sizes
from polyml.schedule.script.schedule import TEXT
from tests.codegen.llvm.test_assembly import available

ml_dtypes = pytest.importorskip("ml_dtypes")
PAIRS = [("int8", "int8"), ("uint8", "int8"), ("int8", "uint8"), ("uint8", "uint8"), ("int16", "int16")]


def loops(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += np.int32(A[i, k]) * np.int32(B[k, j])


def product(A, B):
    return A.astype(np.int32) @ B.astype(np.int32)


def einsum(A, B):
    return np.einsum("ik,kj->ij", A.astype(np.int32), B.astype(np.int32))


def turned(A, B, C):
    for i in range(A.shape[1]):
        for j in range(B.shape[1]):
            for k in range(A.shape[0]):
                C[i, j] += np.int32(B[k, j]) * A[k, i]


def convolution(image, weights, out):
    for y in range(out.shape[0]):
        for x in range(out.shape[1]):
            for c in range(out.shape[2]):
                for r in range(weights.shape[0]):
                    for s in range(weights.shape[1]):
                        for k in range(weights.shape[2]):
                            out[y, x, c] += np.int32(image[y + r, x + s, k]) * np.int32(weights[r, s, k, c])


def halves(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += np.float32(A[i, k]) * np.float32(B[k, j])


def numbers(rng, name, shape):
    """All values of the type, its extremes often."""
    limits = np.iinfo(name)
    found = rng.integers(limits.min, limits.max + 1, shape)
    return np.where(rng.random(shape) < 0.4, rng.choice([limits.min, limits.max], shape), found).astype(name)


def compiled(kernel, arguments, machine=None, **options):
    """The compiled form of the kernel for a call on a machine, by default this one."""
    made = polyml.kernel(kernel, cache=False)
    types = tuple(ArrayType(BY_NUMPY_NAME[str(a.dtype)], a.ndim) for a in arguments)
    arrays = [(name, a.shape) for name, a in zip(kernel.__code__.co_varnames, arguments)]
    sizes = Sizes(tuple(arrays), tuple((name, ((0, 1 << 40),) * len(shape)) for name, shape in arrays))
    settings = config.resolve({"threads": 1, **options})
    return compile(
        made._parsed(), CompileRequest(types, ("C",) * len(types), settings, False, sizes, machine or cpu.host()), emits=TEXT
    )


def words(program):
    return {node.word for node in every(program.body) if isinstance(node, Unroll) and node.word}


def here(left, right):
    """The instruction that this machine has for products of the types."""
    found = use(cpu.host(), I32, BY_NUMPY_NAME[right], BY_NUMPY_NAME[left])
    return set() if found is None else {found.instruction.name, "copy"}


@pytest.mark.parametrize("left, right", PAIRS)
@pytest.mark.parametrize("N, M, K", [(130, 120, 128), (97, 131, 259)])
def test_sums_are_those_of_numpy_and_wrap_as_they_do(left, right, N, M, K):
    rng = np.random.default_rng(N)
    A, B, C = numbers(rng, left, (N, K)), numbers(rng, right, (K, M)), numbers(rng, "int32", (N, M))
    wanted = A.astype(np.int32) @ B.astype(np.int32)
    np.testing.assert_array_equal(polyml.kernel(product, cache=False, fallback="error")(A, B), wanted)
    for kernel, first in ((loops, A), (turned, np.ascontiguousarray(A.T))):
        sums = C.copy()
        polyml.kernel(kernel, cache=False, fallback="error")(first, B, sums)
        np.testing.assert_array_equal(sums, C + wanted)


@pytest.mark.parametrize("left, right", PAIRS)
@pytest.mark.parametrize("kernel", [loops, product, einsum, turned])
def test_the_instruction_is_in_the_loops_and_in_the_machine_code(kernel, left, right):
    wanted = here(left, right)
    if not wanted:
        pytest.skip("this machine has no such instruction")
    arguments = [np.zeros((256, 256), left), np.zeros((256, 256), right)]
    arguments += [np.zeros((256, 256), np.int32)] if kernel.__code__.co_argcount == 3 else []
    made = compiled(kernel, arguments)
    assert words(made.program) == wanted
    assert any("with " + (wanted - {"copy"}).pop() in note for note in made.artifact.notes)
    assert re.search(rf"\t{(wanted - {'copy'}).pop()}\t", made.asm)


@pytest.mark.parametrize("left, right", [("uint8", "int8"), ("int8", "int8")])
def test_a_convolution_adds_up_channels_by_words(left, right):
    rng = np.random.default_rng(1)
    image, weights = numbers(rng, left, (20, 23, 32)), numbers(rng, right, (3, 3, 32, 64))
    out = np.zeros((18, 21, 64), np.int32)
    wanted = sum(
        image[r : r + 18, s : s + 21].astype(np.int32) @ weights[r, s].astype(np.int32) for r in range(3) for s in range(3)
    )
    polyml.kernel(convolution, cache=False, fallback="error")(image, weights, out)
    np.testing.assert_array_equal(out, wanted)
    assert words(compiled(convolution, [image, weights, out]).program) == here(left, right)


@pytest.mark.parametrize("N, M, K", [(130, 120, 128), (97, 131, 259)])
def test_sums_of_halves_are_within_the_bound_of_a_reduction(N, M, K):
    rng = np.random.default_rng(2)
    A, B = (rng.standard_normal(shape).astype(ml_dtypes.bfloat16) for shape in ((N, K), (K, M)))
    C = np.zeros((N, M), np.float32)
    polyml.kernel(halves, cache=False, fallback="error")(A, B, C)
    exact, scale = A.astype(float) @ B.astype(float), abs(A.astype(float)) @ abs(B.astype(float))
    assert (abs(C - exact) <= K * 2.0**-24 * scale + K * 2.0**-126).all()


def test_halves_keep_their_order_in_strict_floating_point():
    A = np.ones((256, 256), ml_dtypes.bfloat16)
    arguments, zen4 = [A, A, np.zeros((256, 256), np.float32)], catalogue.processor("zen4")
    assert not words(compiled(halves, arguments, zen4, fp="strict").program)
    assert words(compiled(halves, arguments, zen4).program) == {"vdpbf16ps", "copy"}


@pytest.mark.parametrize(
    "machine, left, right, instruction",
    [
        ("zen4", "int8", "int8", "vpdpbusd"),
        ("zen5", "uint8", "int8", "vpdpbusd"),
        ("icelake-sp", "int16", "int16", "vpdpwssd"),
        ("skylake-sp", "int16", "int16", "vpmaddwd"),
        ("zen3", "int16", "int16", "vpmaddwd"),
        ("sapphire-rapids", "bfloat16", "bfloat16", "vdpbf16ps"),
        ("neoverse-v1", "int8", "int8", "sdot"),
        ("neoverse-v1", "uint8", "uint8", "udot"),
        ("neoverse-v2", "uint8", "int8", "usdot"),
        ("neoverse-v2", "bfloat16", "bfloat16", "bfdot"),
        ("skylake-sp", "int8", "int8", ""),
    ],
)
def test_a_named_machine_gets_its_instructions(machine, left, right, instruction):
    llvm = pytest.importorskip("llvmlite.binding")
    target = catalogue.processor(machine)
    kernel, sums = (halves, np.float32) if left == "bfloat16" else (loops, np.int32)
    arguments = [np.zeros((256, 256), left), np.zeros((256, 256), right), np.zeros((256, 256), sums)]
    made = compiled(kernel, arguments, target)
    assert words(made.program) == ({instruction, "copy"} if instruction else set())
    machine_code = available(target.triple).create_target_machine(cpu=target.cpu_name, features=target.features, opt=1)
    text = machine_code.emit_assembly(llvm.parse_assembly(made.llvm))
    assert bool(instruction) == bool(re.search(rf"\t({instruction or 'vpdpbusd|sdot'})\t", text))


def test_an_operand_whose_rows_lie_across_the_sum_is_copied_in_words_too():
    """Its rows are then read as they are stored; element by element, a transposition takes a fifth of the product's time."""
    A, C = np.zeros((256, 256), np.int8), np.zeros((256, 256), np.int32)
    for kernel, wanted in ((loops, {"B": 4}), (turned, {"A": 4, "B": 4})):
        windows = compiled(kernel, [A, A, C], replace(catalogue.processor("zen4"), cores=2)).program.windows
        assert {name[0]: window.word for name, window in windows.items() if window.word > 1} == wanted


@pytest.mark.parametrize("kernel, kind, rows", [(loops, "int8", 12), (loops, "int16", 8), (halves, "bfloat16", 8)])
def test_a_register_tile_is_as_wide_as_a_panel_and_bytes_have_tall_ones(kernel, kind, rows):
    """A narrower one would read every second cache line of the panel; twelve rows share the sums of a bias."""
    A, sums = np.zeros((1024, 1024), kind), np.zeros((1024, 1024), "float32" if kind == "bfloat16" else "int32")
    notes = compiled(kernel, [A, A, sums], catalogue.processor("zen4")).artifact.notes
    assert re.search(rf"c\d+ by {rows}, c\d+ by 2 x 16 lanes, c\d+ by words of", "\n".join(notes))
    assert f"rows of a register tile: {rows} x 1024" in "\n".join(notes)


@pytest.mark.sweep("machine", "kernel")
@pytest.mark.parametrize("kernel", [loops, turned])
@pytest.mark.parametrize("machine", ["zen4", "neoverse-v1"])
@pytest.mark.parametrize("left, right", [("int8", "int8"), ("uint8", "uint8")])
def test_loops_of_words_mean_what_the_loops_without_them_do(machine, left, right, kernel):
    """By the interpreter, which shares nothing with the instructions; the text reads back as the same loops."""
    rng = np.random.default_rng(3)
    A, B, C = numbers(rng, left, (58, 67)), numbers(rng, right, (67, 53)), numbers(rng, "int32", (58, 53))
    program = compiled(
        kernel, [np.zeros((256, 256), a.dtype) for a in (A, B, C)], replace(catalogue.processor(machine), cores=2), cache=False
    ).program
    assert words(program)
    again = reader.parse(writer.text(program))
    assert (again.body, again.windows) == (program.body, program.windows)
    wanted = C + A.astype(np.int32) @ B.astype(np.int32)
    run.run(again, {"A": A if kernel is loops else np.ascontiguousarray(A.T), "B": B, "C": C})
    np.testing.assert_array_equal(C, wanted)
