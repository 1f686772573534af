"""Instructions that add up products of small numbers: LLVM knows each line of the table, and which one a machine takes."""

import pytest

from polyml.codegen.dot_products.instructions import NAMES, TABLE, named, use
from polyml.dtypes import BF16, F16, F32, I8, I16, I32, I64, U8, U32
from polyml.machines import catalogue
from tests.codegen.llvm.test_assembly import available

TRIPLES = {"x86-64": "x86_64-unknown-linux-gnu", "aarch64": "aarch64-unknown-linux-gnu"}
LINES = [(line, lanes) for line in TABLE for lanes in line.intrinsics]


def vector(dtype, lanes):
    return f"<{lanes} x {'bfloat' if dtype == BF16 else 'float' if dtype == F32 else f'i{dtype.bits}'}>"


@pytest.mark.parametrize("line, lanes", LINES, ids=[f"{line.name}-{line.features[0]}-{lanes}" for line, lanes in LINES])
def test_llvm_makes_the_instruction_of_each_line(line, lanes):
    llvm = pytest.importorskip("llvmlite.binding")
    sums, factors = vector(line.result, lanes), vector(line.left, line.length * lanes)
    kinds = [sums, factors, factors] if line.adds else [factors, factors]
    given = ", ".join(f"{kind} %x{i}" for i, kind in enumerate(kinds))
    name = line.intrinsics[lanes]
    body = f"define {sums} @f({given}) {{\n  %r = call {sums} @{name}({given})\n  ret {sums} %r\n}}\n"
    for feature in line.features:
        if feature == "avxvnni" and lanes == 16:
            continue  # the vectors of 64 bytes are AVX-512's
        wide = ",+avx512vl" if feature.startswith("avx512") else ""
        machine = available(TRIPLES[line.isa]).create_target_machine(features=f"+{feature}{wide}")
        module = llvm.parse_assembly(f'target triple = "{TRIPLES[line.isa]}"\ndeclare {sums} @{name}({", ".join(kinds)})\n{body}')
        module.verify()
        assert f"\t{line.name}\t" in machine.emit_assembly(module), feature


@pytest.mark.parametrize(
    "machine, types, expected",
    [
        ("zen4", (I32, I8, U8), ("vpdpbusd", False)),
        ("zen4", (I32, U8, I8), ("vpdpbusd", False)),
        ("zen4", (I32, I8, I8), ("vpdpbusd", True)),
        ("zen4", (U32, U8, U8), ("vpdpbusd", True)),
        ("zen4", (I32, I16, I16), ("vpdpwssd", False)),
        ("zen4", (F32, BF16, BF16), ("vdpbf16ps", False)),
        ("sapphire-rapids", (F32, BF16, BF16), ("vdpbf16ps", False)),
        ("icelake-sp", (F32, BF16, BF16), None),
        ("skylake-sp", (I32, I8, I8), None),
        ("skylake-sp", (I32, I16, I16), ("vpmaddwd", False)),
        ("zen3", (I32, I16, I16), ("vpmaddwd", False)),
        ("neoverse-v1", (I32, I8, I8), ("sdot", False)),
        ("neoverse-v1", (I32, U8, U8), ("udot", False)),
        ("neoverse-v1", (I32, I8, U8), ("usdot", False)),
        ("neoverse-v2", (F32, BF16, BF16), ("bfdot", False)),
        ("neon", (I32, I8, I8), None),
        ("zen4", (I64, I8, I8), None),
        ("zen4", (F32, F16, F16), None),
        ("zen4", (I32, I8, I16), None),
    ],
    ids=str,
)
def test_a_machine_takes_the_first_line_that_it_has_for_the_types(machine, types, expected):
    found = use(catalogue.processor(machine), *types)
    assert (found and (found.instruction.name, found.is_biased)) == expected


def test_an_instruction_is_found_by_its_name_for_the_types_that_it_takes():
    assert named("vpdpbusd", 16, I32, I8, U8) is not None
    assert named("vpdpbusd", 16, I32, I16, I16) is None
    assert named("vpdpbusd", 5, I32, I8, U8) is None
    assert {"vpdpbusd", "vdpbf16ps", "sdot"} <= {*NAMES}


@pytest.mark.parametrize("is_signed", [True, False])
def test_biased_products_are_those_of_the_numbers_themselves(is_signed):
    """By all pairs of bytes: x*y = (x + b)*y - b*y, where x + b is x with its highest bit inverted, read with the other sign."""
    bias = 128 if is_signed else -128
    for x in range(-128, 128) if is_signed else range(256):
        inverted = (x & 255) ^ 128
        moved = inverted if is_signed else inverted - 256 * (inverted >= 128)
        assert moved == x + bias
        assert all(moved * y - bias * y == x * y for y in range(-128, 256))
