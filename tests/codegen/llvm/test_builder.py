"""Functions as modules: what they declare, how they are grouped, and how much effort LLVM makes for them."""

import re

import numpy as np
import pytest

from polyml.codegen.llvm import builder
from polyml.codegen.llvm.addresses import ArrayArguments
from polyml.codegen.llvm.arithmetic import FloatArithmetic
from polyml.codegen.llvm.builder import Unit
from polyml.codegen.llvm.emit import ENTRY, emit
from polyml.machines import cpu
from tests.codegen.loop_nests import arguments_for, five_points, matmul
from tests.codegen.native import layouts_of, program_of

HELPER = "define internal void @helper() {\n  ret void\n}"
ONE = Unit("one", "define void @one() { ... }", {"two": "declare void @two()", "sin": "declare double @sin(double)"}, 1.0)
TWO = Unit("two", "define void @two() { ... }", {"helper": HELPER, "sin": "declare double @sin(double)"}, 1.0)


def units_of(function, *, threads=True, preset="avx2", **options):
    arguments = arguments_for(function, (3, 3, 3), np.float64)
    program = program_of(function, arguments, preset)
    return emit(program, ArrayArguments(layouts_of(arguments), False), FloatArithmetic("strict", True), threads=threads, **options)


def test_a_function_alone_declares_what_it_calls():
    assert builder.text([ONE]) == "declare double @sin(double)\ndeclare void @two()\ndefine void @one() { ... }\n"


def test_together_they_declare_what_none_of_them_defines_once():
    assert builder.text([ONE, TWO]) == f"declare double @sin(double)\n{HELPER}\n{ONE.definition}\n{TWO.definition}\n"


def test_functions_become_modules_as_soon_as_they_are_some_effort():
    taken = []
    groups = builder.Groups(taken.append)
    for name, effort, modules in [("a", 0.6, 0), ("b", 0.5, 1), ("c", 2.0, 2), ("d", 0.9, 2)]:
        groups.add(Unit(name, f"define {name}", {}, effort * builder.GROUP_EFFORT))
        assert len(taken) == modules
    groups.close()
    groups.close()
    assert taken == ["define a\ndefine b\n", "define c\n", "define d\n"]


def test_functions_are_given_on_when_they_are_whole_and_the_kernel_last():
    given = []
    units = units_of(matmul, finished=given.append)
    assert len(units) > 1 and given == [*units[1:], units[0]]


@pytest.mark.parametrize("kernel", [matmul, five_points], ids=lambda k: k.__name__)
def test_each_function_s_module_is_whole(kernel):
    llvm = pytest.importorskip("llvmlite.binding")
    if cpu.host().isa != "x86-64":
        pytest.skip("the code is for x86-64")
    units = units_of(kernel)
    assert units[0].name == ENTRY and len(units) > 1
    for unit in units:
        module = llvm.parse_assembly(builder.text([unit]))
        module.verify()
        defined = {f.name for f in module.functions if not f.is_declaration}
        assert defined == {unit.name}
        assert set(unit.declarations) == {f.name for f in module.functions} - defined


def test_only_a_function_without_loops_of_its_own_is_left_as_it_is():
    kernel, *shares = units_of(matmul)
    alone, *none = units_of(matmul, threads=False)
    assert "optnone" in kernel.definition and not none
    assert not any("optnone" in unit.definition for unit in (*shares, alone))
    assert kernel.effort < len(kernel.definition) / 2 and all(unit.effort == len(unit.definition) for unit in (*shares, alone))
    assert re.search(r"call void @polyml_parallel\(ptr @polyml_kernel.parallel1,", kernel.definition)
