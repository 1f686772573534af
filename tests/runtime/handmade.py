"""Artifacts from LLVM text written by hand, so that the runtime is tested without the compiler."""

from functools import cache

from polyml.frontend.syntax import ArrayType
from polyml.runtime.loading import assemble, link, load
from polyml.runtime.storage.artifact import Artifact
from polyml.runtime.storage.records import parse_type

RETURN = "define i64 @kernel(ptr %slots) {{\n  ret i64 {status}\n}}"

# Copies its slots to the address that its last argument, an int, holds.
SPY = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
define i64 @kernel(ptr %slots) {{
  %last = getelementptr i64, ptr %slots, i64 {last}
  %to = load ptr, ptr %last
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %slots, i64 {size}, i1 false)
  ret i64 0
}}
"""


@cache
def code(text: str) -> link.Code:
    return load.load([assemble.assemble(text)], "kernel")


def artifact(*types: str, layouts: str | None = None, **fields) -> Artifact:
    """An artifact with parameters a, b, c, ... of these types. layouts: "CFA", C for every array by default."""
    parsed = tuple(map(parse_type, types))
    arrays = sum(isinstance(t, ArrayType) for t in parsed)
    given = {"name": "f", "params": tuple("abcdefghij"[: len(types)]), "entry": "kernel", "object_code": (), **fields}
    return Artifact(types=parsed, layouts=tuple(layouts if layouts is not None else "C" * arrays), **given)


def returning(status: int) -> link.Code:
    return code(RETURN.format(status=status))


def spy(slots: int) -> link.Code:
    return code(SPY.format(last=slots - 1, size=8 * slots))
