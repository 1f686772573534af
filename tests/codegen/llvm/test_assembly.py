"""The machine code itself: vectors of the target's width, registers that suffice, and targets that do not run here."""

import re

import numpy as np
import pytest

from polyml import kernels
from polyml.codegen.llvm import builder
from polyml.codegen.llvm.addresses import ArrayArguments
from polyml.codegen.llvm.arithmetic import FloatArithmetic
from polyml.codegen.llvm.emit import emit
from polyml.machines import catalogue, cpu
from polyml.runtime.loading import assemble
from tests.codegen.loop_nests import arguments_for, five_points, lu, matmul, row_dots
from tests.codegen.native import layouts_of, presets, program_of

llvm = pytest.importorskip("llvmlite.binding")
VECTOR = {"sse2": r"%xmm", "avx2": r"%ymm", "avx512": r"%zmm", "neon": r"\bv\d+\.2d"}


def assembly(function, arguments, preset, *, fp="reassociate"):
    target = catalogue.processor(preset)
    program = program_of(function, arguments, preset, fp=fp)
    text = builder.text(emit(program, ArrayArguments(layouts_of(arguments), False), FloatArithmetic(fp, target.fma)))
    if target.isa == cpu.host().isa:
        return assemble.assembly(text, cpu=target.cpu_name, features=target.features)
    made = available(target.triple).create_target_machine(cpu=target.cpu_name, features=target.features, opt=1)
    module = llvm.parse_assembly(text)
    module.verify()
    assert made.emit_object(module)
    return made.emit_assembly(module)


def available(triple):
    """LLVM's target for the triple; the test is skipped where this LLVM was built without it."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    try:
        return llvm.Target.from_triple(triple)
    except RuntimeError as problem:
        pytest.skip(str(problem))


def innermost_loops(text):
    """The instructions of every block that jumps back to its own start."""
    found, label, block = [], None, []
    for line in text.splitlines():
        start = re.match(r"(\.L\w+):", line)
        if start:
            label, block = start[1], []
        elif label and re.match(r"\t[a-z]", line):
            block.append(line.strip())
            if re.match(rf"\tj\w+\t{re.escape(label)}$", line):
                found.append(block)
    return found


@pytest.mark.parametrize("preset", ["sse2", "avx2", "avx512", "neon"])
@pytest.mark.parametrize("kernel", [matmul, row_dots, five_points, lu], ids=lambda k: k.__name__)
def test_code_for_every_preset_assembles_with_vectors_of_its_width(kernel, preset):
    if catalogue.processor(preset).isa == "x86-64" and not presets():
        pytest.skip("this LLVM assembles for its own architecture alone")
    text = assembly(kernel, arguments_for(kernel, (3, 3, 3), np.float64), preset)
    assert re.search(VECTOR[preset], text)


@pytest.mark.skipif(not presets(), reason="x86-64 code")
def test_the_register_tile_of_a_product_stays_in_registers():
    benchmark = kernels.load("gemm")
    arguments = benchmark.inputs(benchmark.sizes["MINI"], np.random.default_rng(0), np.dtype("float64"))
    text = assembly(benchmark.kernel.py_func, arguments, "avx512")
    hot = max(innermost_loops(text), key=lambda block: sum("vfmadd" in line for line in block))
    multiply_adds = [line for line in hot if "vfmadd" in line and "%zmm" in line]
    assert len(multiply_adds) >= 12
    assert not [line for line in hot if "%zmm" in line and "(%rsp)" in line]
    assert len(hot) <= 5 * len(multiply_adds)
