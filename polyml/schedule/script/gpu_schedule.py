"""The steps for GPUs of a schedule that its user writes: `s.grid("i", "j").block(32, 8).shared("A", at="k")`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from polyml.reading.input_limits import plain, shown
from polyml.schedule.script import gpu_steps, transforms
from polyml.schedule.tree import loop_tree as loops
from polyml.schedule.tree.loop_tree import Node
from polyml.tracebacks import guard_methods

Same = TypeVar("Same", bound="GpuSteps")


def words(*values: object, **named: object) -> str:
    """Returns the arguments of a step as messages show them."""
    told = [value if isinstance(value, str) and len(value) < 60 else shown(value) for value in values]
    return ", ".join([*told, *(f"{name}={shown(value)}" for name, value in named.items())])


@partial(guard_methods, taken=plain)
class GpuSteps(ABC):
    """The part of `Schedule` whose steps divide loops among the host, the blocks and the threads of a GPU.

    They need a kernel for GPUs, `polyml.kernel(target="opencl")` or `target="cuda"`. What a script does not say, polyml chooses: the
    loops of a grid, and the sizes, items and copies of launches whose `block` and `items` are not given.

    launch: a statement of the launch of the last `grid`; "" before any.
    """

    launch: str

    @abstractmethod
    def _changed(self: Same, step: str, change: Callable[[Node], Node]) -> Same: ...

    @abstractmethod
    def _check_read(self, array: str, names: tuple[str, ...], at: str) -> None: ...

    @abstractmethod
    def _in_launch(self: Same, loop: str) -> Same: ...

    def grid(self: Same, *loops: str) -> Same:
        """Returns the schedule in which loops directly inside one another are divided among the blocks and threads of a launch.

            for i: for j: S       ->    launch of blocks of threads: i along y, j along x

        loops: outermost first, in the order in which the axes are counted: the last one is axis x, along which neighbouring threads
            should access neighbouring elements. Loops between and inside them are run by each thread.

        No loop of a grid may carry a dependence within one launch. A dependence of a loop around them is kept if each iteration of it
        launches again (`host`).
        """
        made = self._changed(f"grid({words(*loops)})", lambda tree: gpu_steps.grid(tree, loops))
        return made._in_launch(loops[-1])

    def block(self: Same, *sizes: int, **named: int) -> Same:
        """Returns the schedule with the threads of a launch's blocks, along x, y and z as in CUDA: block(32, 8); or by loop:
        block(j=32, i=8). Axes without a size have one thread.

        Sizes without names are for the last `grid`, or for the only one. At most 1,024 threads are in a block.
        """
        return self._changed(f"block({words(*sizes, **named)})", lambda tree: gpu_steps.block(tree, self.launch, sizes, named))

    def items(self: Same, *counts: int, adjacent: bool = False, **named: int) -> Same:
        """Returns the schedule in which a thread runs several iterations of a launch's loops together (register tile; Volkov and
        Demmel, SC 2008), along x, y and z: items(4, 4); or by loop: items(j=4, i=4).

            thread: for k: S[i, k]    ->    thread: for k: S[i, k]; S[i + 1, k]

        adjacent: whether a thread's iterations follow one another, in place of those of neighbouring threads. A loop over tiles in
            the grid does the same: its threads have a tile each.
        """
        told = words(*counts, **named, **({} if adjacent is False else {"adjacent": adjacent}))
        return self._changed(f"items({told})", lambda tree: gpu_steps.items(tree, self.launch, counts, named, adjacent))

    def host(self: Same, loop: str) -> Same:
        """Returns the schedule in which each iteration of a loop launches again what is inside it, so that it may carry dependences.

        for t: grid of i: S       ->    host: for t: launch of a grid of i: S
        """
        return self._changed(f"host({words(loop)})", lambda tree: gpu_steps.host(tree, loop))

    def shared(self: Same, array: str, at: str) -> Same:
        """Returns the schedule in which a block copies to shared memory what its threads read of an array in a loop.

            for k: S(A[i, k])         ->    for k_chunk: A_tile = part of A; barrier; for k in the chunk: S(A_tile[...]); barrier

        at: a loop of each thread, whose iterations are copied 16 at a time, or one over tiles of it: a tile at a time; or a loop of the
            grid: once, before the threads run.
        """

        def change(tree: Node) -> Node:
            _, around = transforms.find(tree, at)
            self._check_read(array, loops.statements(around), at)
            return gpu_steps.shared(tree, array, at)

        return self._changed(f"shared({words(array)}, at={words(at)})", change)
