"""An estimate of the registers of a thread, which the assembler decides."""

from __future__ import annotations

from polyml.codegen.gpu.block_loops.matrix_fragments import Fragments
from polyml.codegen.gpu.program import Launch, Version
from polyml.codegen.gpu.residency import registers_of, words_of_iterations, words_of_positions
from polyml.codegen.gpu.rows.row_teams import RowCode
from polyml.codegen.gpu.teams import TeamPhase
from polyml.codegen.ir.program import Guard, Instance, Loop, Node, instances
from polyml.frontend import syntax
from polyml.model.core.nest import subvalues
from polyml.model.core.scop import Scop
from polyml.quasi_affine.affine import TRUE

LOADED_TOGETHER = 4  # iterations of a loop whose loads are issued together
RULE = (
    "an estimate, mostly within 16 of what nvcc takes: 8, 2 for each axis, 11 for a loop and 2 for each one inside it, what a statement "
    "loads, 5 for each function and 2 for each quotient; where a thread sums several items, 36 and the elements held and loaded together, for two iterations where tiles are copied ahead, with matrix instructions 60; 10 for partial results, and what registers hold of rows"
)
_FRAME, _AXIS, _LOOP, _INNER, _CALL, _QUOTIENT = 8, 2, 11, 2, 5, 2
_COMBINED = 10  # a thread's number, its partial result and that of another
_LOADED = 0.6  # of the words that a statement loads: some are used at once
_OF_POSITIONS = 1.4  # registers for each word of a sum for positions of merged loops, with those of copies on the way
_TILE = 36  # addresses and counters of a thread with several items, besides what is held
_MATRICES = 60  # the same of a product by matrix instructions
_WORD = 4  # bytes of the largest elements of which operands of two iterations are loaded together


def registers(launch: Launch, scop: Scop) -> int:
    """Returns an estimate of the registers of a thread of a launch: of the version of its code that takes most.

    The numbers fit what ptxas of CUDA 13.0 takes for sm_90, of PolyBench's kernels in float32 and float64.
    """
    if launch.team is not None:
        rows = launch.team.registers if isinstance(launch.team, RowCode) else 0
        return rows + max(_of_phase(phase, launch, scop) for phase in launch.team.phases.values())
    return max(_of_version(version, launch, scop) for version in launch.versions)


def _of_phase(phase: TeamPhase, launch: Launch, scop: Scop) -> int:
    """Returns an estimate for a part of what a team runs, in which partial results are combined or fetched."""
    own = _of_version(Version(TRUE, phase.body), launch, scop)
    return own + (_COMBINED if phase.partial else 0) + (_LOOP if phase.stored else 0)


def _of_version(version: Version, launch: Launch, scop: Scop) -> int:
    if version.fragments:
        return _MATRICES + max(map(_of_matrices, version.fragments))
    if version.merged:
        return round(_OF_POSITIONS * words_of_positions(version.merged, scop))
    tiles = [held for held in version.registers if held.items]
    if tiles:
        ahead = {id(each.loop) for each in version.pipelined if all(tile.element_bytes <= _WORD for tile in each.tiles)}
        return _TILE + max(words_of_iterations(held, scop, 1 + (id(held.innermost) in ahead)) for held in tiles)
    statements = [scop.statements[name] for name in dict.fromkeys(node.statement for node in instances(version.body))]
    values = [value for statement in statements for value in subvalues(statement.value)]
    words = max(
        (sum(registers_of(scop.arrays[access.array].element) for access in statement.reads) for statement in statements), default=0
    )
    loops = _depth(version.body)
    total = _FRAME + _AXIS * len(launch.axes) + (_LOOP + _INNER * (loops - 1) if loops else 0) + _LOADED * words
    total += _CALL * sum(isinstance(value, syntax.Call) for value in values)
    total += _QUOTIENT * sum(isinstance(value, syntax.Binary) and value.op in ("/", "//", "%", "**") for value in values)
    return round(total)


def _of_matrices(found: Fragments) -> int:
    """Returns how many registers hold a lane's sums, and what it loads of both operands for them."""
    (m, n), layout = found.parts, found.instruction
    return m * n * len(layout.sums.rows) + m * len(layout.left.origins) + n * len(layout.right.origins)


def _depth(nodes: tuple[Node, ...]) -> int:
    """Returns how many loops are inside one another at most."""
    inside = (node.body for node in nodes if isinstance(node, (Loop, Guard)))
    counts = (isinstance(node, Loop) for node in nodes if not isinstance(node, Instance))
    return max((count + _depth(body) for count, body in zip(counts, inside)), default=0)
