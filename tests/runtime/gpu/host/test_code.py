"""The host's part as Python functions equals the program that it is made of."""

from dataclasses import replace

import pytest

from polyml.codegen.interpreter.order import sequence
from polyml.codegen.ir.program import Program
from polyml.config import Options
from polyml.frontend.parsing.parse import parse
from polyml.pipeline.gpu.compile import compile_for_gpu
from polyml.pipeline.gpu.device import Device
from polyml.runtime.gpu.host.code import host_code
from polyml.runtime.gpu.host.nodes import HostGuard
from polyml.runtime.storage.records import parse_type
from tests.gpu import kernels
from tests.runtime.gpu.examples import made, scaled, swept


def triangle(A):
    for k in range(A.shape[0]):
        for i in range(k + 1, A.shape[0]):
            for j in range(k + 1, A.shape[0]):
                A[i, j] = A[i, j] - A[i, k] * A[k, j]


@pytest.mark.parametrize(
    "function, types", [(swept, ("f32[:]", "int")), (triangle, ("f64[:, :]",)), (kernels.gemm, ("f32[:, :]",) * 3)]
)
def test_launches_are_those_of_the_program_in_its_order(function, types):
    found = compile_for_gpu(parse(function), tuple(map(parse_type, types)), Options(), Device("cuda"))
    program, artifact = found.program, found.artifact
    sizes = {each.name: 70 - 3 * number for number, each in enumerate(artifact.parameters)}
    wanted = []
    for name, point in sequence(Program(program.scop, program.order), sizes):
        values = {**sizes, **dict(zip(program.launches[name].host, point))}
        ((launch, _),) = program.runs(name, values)
        blocks = tuple(axis.blocks.evaluate(values) for axis in launch.axes)
        firsts = tuple(axis.first.evaluate(values) for axis in launch.axes)
        integers = tuple(values[each] for each in found.source.signatures[launch.name].integers)
        wanted.append((launch.name, blocks, firsts, integers, ()))
    seen = []
    starts = [lambda *given, name=kernel.name: seen.append((name, *given)) for kernel in artifact.kernels]
    host_code(artifact).launches(*sizes.values(), *starts)
    assert seen == wanted and seen


def test_the_number_of_the_first_check_that_fails_is_returned():
    host = host_code(made(scaled, "f64[:]", "f64[:]", "f64"))
    assert host.violated(5, 5) == 0 and host.violated(5, 4) == 1


def test_a_text_that_is_no_expression_is_refused():
    artifact = made(scaled, "f64[:]", "f64[:]", "f64")
    for wrong in ("A_0.real", "__import__('os')", "[A_0]", "A_0 +", "other"):
        with pytest.raises(ValueError):
            host_code(replace(artifact, host=(HostGuard(wrong, artifact.host),)))


def test_loops_that_python_does_not_nest_are_refused():
    artifact = made(scaled, "f64[:]", "f64[:]", "f64")
    deep = artifact.host
    for _ in range(30):
        deep = (HostGuard("A_0 >= 0", deep),)
    with pytest.raises(ValueError, match="nested too deeply"):
        host_code(replace(artifact, host=deep))
