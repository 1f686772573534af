"""Arithmetic of float16: instructions of processors that have them give what NumPy's detour by way of float32 does."""

import re
from fractions import Fraction
from operator import add, mul, sub, truediv

import numpy as np
import pytest

import polyml
from polyml import config
from polyml.dtypes import F16
from polyml.frontend.syntax import ArrayType
from polyml.machines import catalogue
from polyml.pipeline.compile import CompileRequest, compile
from polyml.runtime.storage.size_classes import Sizes
from polyml.schedule.script.schedule import TEXT
from tests.codegen.llvm.test_assembly import available


def every_operation(x, y, z):
    for i in range(x.shape[0]):
        z[i] = (x[i] * y[i] + x[i]) / y[i] - z[i]


def converted(x, y, z):
    for i in range(x.shape[0]):
        z[i] = np.sqrt(x[i]) + y[i]


def assembly(kernel, machine, fp):
    llvm = pytest.importorskip("llvmlite.binding")
    target = catalogue.processor(machine)
    arrays = [(name, (1024,)) for name in "xyz"]
    sizes = Sizes(tuple(arrays), tuple((name, ((0, 1 << 40),)) for name, _ in arrays))
    types, settings = (ArrayType(F16, 1),) * 3, config.resolve({"threads": 1, "fp": fp})
    parsed = polyml.kernel(kernel, cache=False)._parsed()
    made = compile(parsed, CompileRequest(types, ("C",) * 3, settings, False, sizes, target), emits=TEXT)
    machine_code = available(target.triple).create_target_machine(cpu=target.cpu_name, features=target.features, opt=1)
    return machine_code.emit_assembly(llvm.parse_assembly(made.llvm))


@pytest.mark.parametrize(
    "fp, wanted", [("strict", {"vmulph", "vaddph", "vdivph", "vsubph"}), ("reassociate", {"vdivph", "vsubph"})]
)
def test_sums_products_and_quotients_are_computed_as_they_are(fp, wanted):
    text = assembly(every_operation, "sapphire-rapids", fp)
    assert set(re.findall(r"\tv(?:add|mul|div|sub)ph\b", text)) == {f"\t{name}" for name in wanted}
    assert not re.search(r"\tvcvtp[hs]2p", text)
    assert bool(re.search(r"\tvfmadd\d+ph", text)) == (fp == "reassociate")


def test_arm_has_such_instructions_too():
    text = assembly(every_operation, "neoverse-v1", "strict")
    assert all(re.search(rf"\t{name}\tv\d+\.8h", text) for name in ("fmul", "fadd", "fdiv", "fsub"))
    assert not re.search(r"\tfcvt[ln]", text)


def test_other_operations_and_other_processors_compute_in_float32():
    assert re.search(r"\tvcvtp[hs]2p", assembly(every_operation, "zen4", "strict"))
    assert re.search(r"\tvsqrtps\t", assembly(converted, "sapphire-rapids", "strict"))


def rounded(exact):
    """The float16 nearest to a number other than 0, the even one of two, by integers alone."""
    size, exponent = abs(exact), -24
    while size >= Fraction(2) ** (exponent + 11):
        exponent += 1
    unit = Fraction(2) ** exponent
    count = size / unit
    whole = count.numerator // count.denominator
    rest = count - whole
    whole += rest > Fraction(1, 2) or rest == Fraction(1, 2) and whole % 2
    result = float(whole * unit)
    return (np.inf if result > 65504 else result) * (1 if exact > 0 else -1)


@pytest.mark.parametrize("operation", [add, sub, mul, truediv])
def test_rounding_by_way_of_float32_is_rounding_once(operation):
    rng = np.random.default_rng(7)
    bits = rng.integers(0, 1 << 16, (2, 12_000), dtype=np.uint16)
    bits[:, :4_000] &= 0x8FFF  # numbers too small to be normal, and the smallest normal ones
    bits[1, 4_000:8_000] = bits[0, 4_000:8_000] ^ rng.integers(0, 64, 4_000, dtype=np.uint16)  # neighbours
    a, b = bits.view(np.float16)
    compared = 0
    with np.errstate(all="ignore"):
        wide = operation(a.astype(np.float32), b.astype(np.float32)).astype(np.float16)
    for x, y, got in zip(a.tolist(), b.tolist(), wide.tolist()):
        if np.isfinite([x, y]).all() and y and (exact := operation(Fraction(x), Fraction(y))):
            assert got == rounded(exact), (x, y)
            compared += 1
    assert compared > 9_000
