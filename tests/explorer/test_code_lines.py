"""What lines of generated code stand for: statements are told apart by operations that only one of them has."""

import numpy as np
import pytest

import polyml
from polyml.codegen.ir import printer
from polyml.codegen.llvm import builder
from polyml.explorer.code_lines import llvm_pieces, program_lines


def roots(A, B, C, D):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            B[i, j] = A[i, j] / 3.0
    for k in range(C.shape[0]):
        D[k] = np.sqrt(C[k])


TYPES = ("f64[:, :]", "f64[:, :]", "f64[:]", "f64[:]")


def made(change=lambda s: s):
    schedule = change(polyml.kernel(roots, cache=False).schedule("source", *TYPES))
    return schedule, schedule.problem.generate(schedule.tree)


CHANGES = [lambda s: s, lambda s: s.tile(i=4, j=8), lambda s: s.interchange("i", "j").parallel("j"), lambda s: s.vectorize("k")]


@pytest.mark.parametrize("change", CHANGES)
def test_pieces_of_llvm_together_are_the_text_and_know_their_statements(change):
    schedule, generated = made(change)
    text = builder.text(generated.units)
    pieces = llvm_pieces(generated.units, text, schedule.loops)
    assert "\n".join(piece.text for piece in pieces).split() == text.split()
    operations = {"S0": 0, "S1": 0}
    for piece in pieces:
        for statement, operation in (("S0", "fdiv"), ("S1", "sqrt")):
            if any(operation in line and "declare" not in line for line in piece.text.splitlines()):
                assert piece.statements == (statement,), piece.text
                assert piece.loops and ("k" in piece.loops) is (statement == "S1")
                operations[statement] += 1
    assert all(operations.values())


@pytest.mark.parametrize("change", CHANGES)
def test_lines_of_the_program_are_its_text_and_know_their_statements_and_loops(change):
    schedule, generated = made(change)
    lines = program_lines(generated.program, schedule.loops)
    assert "\n".join(line.text for line in lines) == printer.text(generated.program)
    for line in lines:
        expected = ("S0",) if "# S0" in line.text else ("S1",) if "# S1" in line.text else ()
        assert line.statements == expected
        if expected:
            assert ("k" in line.loops) is (expected == ("S1",)) and ("i" in line.loops) is ("j" in line.loops) is (
                expected == ("S0",)
            )


def test_packed_statements_are_those_that_they_were_made_of():
    def product(C, A, B):
        for i in range(C.shape[0]):
            for j in range(C.shape[1]):
                for k in range(A.shape[1]):
                    C[i, j] += A[i, k] * B[k, j]

    start = polyml.kernel(product, cache=False).schedule("source", *["f64[:, :]"] * 3)
    schedule = start.interchange("j", "k").tile(i=48, k=250, j=256).interchange("j_t", "k_t").pack("B", at="j_t")
    generated = schedule.problem.generate(schedule.tree)
    lines = program_lines(generated.program, schedule.loops)
    assert any("S0_from" in line.text for line in lines)
    assert {line.statements for line in lines if "# S0" in line.text} == {("S0",)}
    assert {line.statements for line in lines if "# fill" in line.text} == {()}
