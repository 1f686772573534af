"""A program for a GPU with its text, as the data of which its calls are made, in memory and from disk.

GpuProgram + LaunchSource   ->   GpuArtifact
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from polyml.codegen.gpu.axes import LaunchAxis, TileChoice
from polyml.codegen.gpu.program import GpuProgram, Launch
from polyml.codegen.gpu.signatures import LaunchSignature, LaunchSource
from polyml.codegen.ir.accesses import AccessTable
from polyml.codegen.ir.program import Guard, Instance, Loop, Node
from polyml.model.core.scop import Role, Scop
from polyml.pipeline.gpu.transfers import ALWAYS, needed
from polyml.quasi_affine.affine import Affine, variable
from polyml.runtime.gpu.artifact import DeviceArrayRecord, GpuArtifact, GpuKernel
from polyml.runtime.gpu.host.nodes import (
    HostChoice,
    HostGuard,
    HostLaunch,
    HostLoop,
    HostNode,
    HostProduct,
    HostRows,
    HostTiles,
    MatrixWalk,
)
from polyml.runtime.storage.records import record
from polyml.schedule.gpu.libraries.products import Walk

_GRID_AXES = 3


def artifact(program: GpuProgram, source: LaunchSource, dialect: str, notes: Sequence[str], is_sized: bool) -> GpuArtifact:
    """Returns a program and its text as data.

    dialect: the language of the text.
    notes: lines for explain().
    is_sized: whether other sizes need other code.
    """
    scop, table = program.scop, AccessTable(program.scop.context)
    kernels = tuple(_kernel(launch, source.signatures[name]) for name, launch in program.launches.items())
    return GpuArtifact(
        name=scop.name,
        params=scop.params,
        types=scop.types,
        dialect=dialect,
        text=source.text,
        kernels=kernels,
        host=tuple(_node(node, program, source) for node in program.order),
        arrays=_arrays(scop, kernels, table),
        checks=tuple(map(record, scop.checks)),
        violated=tuple(str(table.condition(check.violated)) for check in scop.checks),
        parameters=scop.parameters,
        results=scop.results,
        result_is_tuple=scop.result_is_tuple,
        result_form=scop.result_form,
        notes=tuple(notes),
        sized=is_sized,
    )


def _arrays(scop: Scop, kernels: Sequence[GpuKernel], table: AccessTable) -> tuple[DeviceArrayRecord, ...]:
    """Returns the arrays that a kernel has as a parameter or that the function returns."""
    uploads = needed(scop, table)
    used = {name for kernel in kernels for name, _ in kernel.arrays} | {result.array for result in scop.results}
    return tuple(
        DeviceArrayRecord(
            name=array.name,
            element=array.element,
            role=array.role.value,
            argument=(array.source_name or array.name) if array.role is Role.ARGUMENT else "",
            shape=tuple(str(table.affine(extent)) for extent in array.shape),
            pairs=array.pairs,
            needed=uploads.get(array.name, ALWAYS),
        )
        for array in scop.arrays.values()
        if array.name in used
    )


def _kernel(launch: Launch, signature: LaunchSignature) -> GpuKernel:
    x, y, z = ([axis.threads for axis in launch.axes[:_GRID_AXES]] + [1] * _GRID_AXES)[:_GRID_AXES]
    integers = len(signature.integers) + len(signature.firsts) + len(signature.extents)
    stem = launch.name.rpartition("_")[0]  # what the two launches have in common that pass partial results to one another
    parts = tuple((f"{stem}/{name}", dtype) for name, dtype in signature.parts)
    asked = signature.shared_bytes
    return GpuKernel(launch.name, (x, y, z), signature.arrays, integers, signature.numbers, signature.status, parts, asked)


def _node(node: Node, program: GpuProgram, source: LaunchSource) -> HostNode:
    """Returns a node of the host's loops as data."""
    if isinstance(node, Loop):
        lower, upper = (tuple(map(str, bounds)) for bounds in (node.lower, node.upper))
        return HostLoop(node.var, lower, upper, node.step, tuple(_node(each, program, source) for each in node.body))
    if isinstance(node, Guard):
        return HostGuard(str(node.condition), tuple(_node(each, program, source) for each in node.body))
    if not isinstance(node, Instance):
        raise TypeError(f"the host has no node {node!r}")
    alone, rows = _with_library(node, program, source), program.rows.get(node.statement)
    if rows is None:
        return alone
    own = [each.name for each in rows.variants] if node.statement == rows.leader else []
    at = dict(zip(program.launches[node.statement].host, node.point))
    longest, *counts = (str(each.substitute(at)) for each in (rows.trips, *rows.rows))
    launches = tuple(_launch(name, node.point, program, source) for name in own)
    threads, most = zip(*((each.threads, each.most) for each in rows.variants))
    return HostRows((alone,), launches, longest, tuple(counts), threads, most)


def _with_library(node: Instance, program: GpuProgram, source: LaunchSource) -> HostNode:
    """Returns a launch in the host's loops, or what a library computes in its place, as data."""
    plain, found = _chosen(node, program, source), program.products.get(node.statement)
    if found is None:
        return plain
    at, product = dict(zip(found.product.host, node.point)), found.product

    def walk(each: Walk) -> MatrixWalk:
        return MatrixWalk(each.array, tuple(str(first.substitute(at)) for first in each.first), each.steps)

    return HostProduct(
        name=f"{node.statement}_by_library",
        body=(plain,),
        rest=(_with_library(replace(node, statement=found.rest), program, source),) if found.rest else (),
        roles=product.roles,
        extents=tuple(str(each.substitute(at)) for each in product.extents),
        result=walk(product.result),
        left=walk(product.left),
        right=walk(product.right),
        alpha=(product.alpha.constant, product.alpha.arguments),
        beta=(product.beta.constant, product.beta.arguments),
        tf32=product.tf32,
    )


def _chosen(node: Instance, program: GpuProgram, source: LaunchSource) -> HostNode:
    """Returns a launch in the host's loops, or the choice among those with and without teams, as data."""
    choice = program.choices.get(node.statement)
    plain = _launch(node.statement, node.point, program, source)
    if choice is None:
        return plain
    if isinstance(choice, TileChoice):
        return HostTiles((plain, _launch(choice.small, node.point, program, source)), choice.costs)
    others = tuple(_launch(name, node.point, program, source) for name in (choice.team, *choice.split))
    at = dict(zip(program.launches[node.statement].host, node.point))
    trips, along = tuple(str(each.substitute(at)) for each in choice.trips), str(choice.divided[0].substitute(at))
    return HostChoice((plain, *others), choice.parts, trips, along, *choice.team_size, choice.beside)


def _launch(name: str, point: Sequence[Affine], program: GpuProgram, source: LaunchSource) -> HostLaunch:
    """Returns a launch in the host's loops as data. point: the values of the host's loops."""
    launch, signature = program.launches[name], source.signatures[name]
    at, team = dict(zip(launch.host, point)), launch.team
    counts = {each: "*".join(f"({count.substitute(at)})" for count in some) for each, some in launch.counts.items()}
    stored = (variable(team.parts), *(count.substitute(at) for _, _, count in team.numbering)) if team and signature.parts else ()
    return HostLaunch(
        launch.name,
        tuple(_blocks(axis, counts.get(axis.count, ""), at) for axis in launch.axes),
        tuple(str(axis.first.substitute(at)) for axis in launch.axes),
        tuple(counts.get(name, str(at.get(name, variable(name)))) for name in signature.integers),
        signature.firsts,
        signature.extents,
        tuple(map(str, stored)),
        tuple(counts.values()),
    )


def _blocks(axis: LaunchAxis, count: str, at: Mapping[str, Affine]) -> str:
    """Returns how many blocks an axis has. count: the text of how many positions it has; "" where it has no merged loops."""
    extent = axis.threads * axis.items
    return f"({count} + {extent - 1}) // {extent}" if count else str(axis.blocks.substitute(at))
