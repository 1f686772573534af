"""What the text of launches is to the host that starts them: kernels by name, and the parameters of each."""

from __future__ import annotations

from dataclasses import dataclass

from polyml.dtypes import DType


@dataclass(frozen=True)
class LaunchSignature:
    """A LaunchSignature lists the parameters of a kernel, in this order.

    arrays: names of arrays stored row by row, each a pointer to its first element, and whether the kernel writes it.
    integers: names of sizes and of variables of the host's loops.
    firsts: the axes, by number, each of which has a parameter for the number of its first block.
    extents: the axes, by number, each of which has a parameter for how many blocks it has.
    numbers: names and types of arguments that are numbers.
    parts: names of partial results that blocks store, and the types of the elements: pointers behind those of the arrays.
    shared_bytes: how many bytes of shared memory the launch asks for.
    status: whether the last parameter is a pointer to an int, in which a kernel reports that the call fails.
    """

    arrays: tuple[tuple[str, bool], ...]
    integers: tuple[str, ...]
    firsts: tuple[int, ...]
    extents: tuple[int, ...]
    numbers: tuple[tuple[str, DType], ...]
    status: bool
    parts: tuple[tuple[str, DType], ...] = ()
    shared_bytes: int = 0


@dataclass(frozen=True)
class LaunchSource:
    """A LaunchSource holds the text of all launches of a program, and { name of a kernel in it -> its signature }."""

    text: str
    signatures: dict[str, LaunchSignature]
