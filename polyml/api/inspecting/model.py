"""The model of a kernel as isl objects, for whoever computes with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import islpy as isl

    from polyml.pipeline.compile import Compiled


@dataclass(frozen=True)
class KernelModel:
    """The model of a kernel for some types: sets and relations of islpy, over the sizes of arrays and integer arguments.

    All of them are in `islpy.DEFAULT_CONTEXT`, so that they can be combined with what a text makes, as `islpy.Map("{ ... }")`. isl is
    for one thread at a time: use them in the thread that calls kernels, or while no other thread compiles.

    kernel: its name.
    parameters: {name of a parameter: what it stands for}, such as {"A_0": "A.shape[0]"}.
    context: { : ... }, what holds for the parameters of every call.
    domain: { S0[i, j]; S1[i] }, the instances of all statements.
    reads, writes: { S0[i, j] -> A[i] }.
    flow, anti, output: { S0[i, j] -> S1[i'] }, all pairs of instances that touch the same element, the source first.
    source_order: the order of the source, as a schedule tree.
    schedule: the order in which the compiled code runs.
    """

    kernel: str
    parameters: dict[str, str] = field(repr=False)
    context: isl.Set = field(repr=False)
    domain: isl.UnionSet
    reads: isl.UnionMap = field(repr=False)
    writes: isl.UnionMap = field(repr=False)
    flow: isl.UnionMap = field(repr=False)
    anti: isl.UnionMap = field(repr=False)
    output: isl.UnionMap = field(repr=False)
    source_order: isl.Schedule = field(repr=False)
    schedule: isl.Schedule = field(repr=False)

    @property
    def accesses(self) -> isl.UnionMap:
        """Returns { S0[i, j] -> A[i] }, the reads and the writes."""
        return self.reads.union(self.writes)

    @property
    def dependences(self) -> isl.UnionMap:
        """Returns the pairs of instances that every schedule keeps in order: flow, anti and output dependences."""
        return self.flow.union(self.anti).union(self.output)


def model_of(compiled: Compiled) -> KernelModel:
    """Returns the model that a kernel was compiled by."""
    from polyml.model.core.dependence import accesses
    from polyml.model.core.printer import parameter_text

    scop, dependences = compiled.scop, compiled.dependences
    reads, writes = accesses(scop)
    return KernelModel(
        scop.name,
        {parameter.name: parameter_text(parameter).partition(" = ")[2] for parameter in scop.parameters},
        scop.context,
        scop.domain,
        reads,
        writes,
        dependences.flow,
        dependences.anti,
        dependences.output,
        scop.schedule,
        compiled.schedule,
    )
