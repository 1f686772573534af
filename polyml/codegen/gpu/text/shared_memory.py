"""The declarations of a kernel's arrays in shared memory.

    up to 48 KiB:   __shared__ __align__(16) float A_tile[2][16][132];
    more:           extern __shared__ __align__(128) unsigned char shared_memory[];  // 98,304 bytes, which the launch asks for
                    unsigned short (&A_tile)[3][128][64] = *(unsigned short (*)[3][128][64])&shared_memory[0];

CUDA has more than 48 KiB for blocks alone whose launch asks for it (CUDA C++ Programming Guide, "Shared memory" of compute capability 7.x).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import prod

from polyml.codegen.gpu.shared_tiles import MOST_BYTES, SharedTile
from polyml.codegen.gpu.text.dialect import Dialect
from polyml.quasi_affine.affine import Affine

_ALIGNED = 128  # bytes, so that banks and swizzles count from the beginning of each array


@dataclass(frozen=True)
class SharedArray:
    """A SharedArray is an array in the shared memory of a block.

    element: the name of the elements' type.
    name: of the array.
    lengths: along each dimension.
    is_aligned: whether it begins at a multiple of 16 bytes.
    """

    element: str
    name: str
    lengths: tuple[int, ...]
    is_aligned: bool = False

    def size_bytes(self, dialect: Dialect) -> int:
        """Returns how many bytes the elements take."""
        return prod(self.lengths) * dialect.size_bytes(self.element)


def declarations(arrays: Iterable[SharedArray], dialect: Dialect) -> Iterator[str]:
    """Yields the C lines that declare a kernel's arrays."""
    found = [*arrays]
    asked = asked_bytes(found, dialect)
    if asked:
        yield f"extern {dialect.shared}__align__({_ALIGNED}) unsigned char shared_memory[];  // {asked:,} bytes, which the launch asks for"
    start = 0
    for each in found:
        sizes = "".join(f"[{length}]" for length in each.lengths)
        if asked:
            yield f"{each.element} (&{each.name}){sizes} = *({each.element} (*){sizes})&shared_memory[{start}];"
            start += _rounded(each.size_bytes(dialect))
        else:
            yield f"{dialect.shared}{'__align__(16) ' if each.is_aligned else ''}{each.element} {each.name}{sizes};"


def asked_bytes(arrays: Iterable[SharedArray], dialect: Dialect) -> int:
    """Returns how many bytes of shared memory a launch asks for: 0 where its kernel has what it needs without."""
    sizes = [each.size_bytes(dialect) for each in arrays]
    return sum(map(_rounded, sizes)) if sum(sizes) > MOST_BYTES else 0


def _rounded(size_bytes: int) -> int:
    return -(-size_bytes // _ALIGNED) * _ALIGNED


def indices_at(tile: SharedTile, subscripts: tuple[Affine, ...], renaming: Mapping[str, Affine]) -> tuple[Affine, ...] | None:
    """Returns the subscripts in the tile of the array's element at the given ones; None if a read there is not served from it.

    renaming: the values of names, in names of the C text.
    """
    here, first = ([each.substitute(renaming) for each in some] for some in (subscripts, tile.subscripts))
    for offset in tile.offsets or ((0,) * len(first),):
        if here == [each + more for each, more in zip(first, offset)]:
            return tile.indices(offset)
    return None
