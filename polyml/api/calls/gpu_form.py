"""One compiled form of a kernel for GPUs, with its code on the devices on which it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from polyml.errors import PolymlError
from polyml.frontend.syntax import ArgType
from polyml.runtime.calling.arguments import CallArgument
from polyml.runtime.gpu import call
from polyml.runtime.gpu.artifact import GpuArtifact
from polyml.runtime.gpu.call import GpuCode
from polyml.runtime.gpu.device_arrays import DeviceArray
from polyml.runtime.gpu.driver import Driver
from polyml.runtime.storage.checksum import Damaged
from polyml.runtime.storage.disk_cache import Cache
from polyml.runtime.storage.size_classes import Sizes


@dataclass(eq=False)
class GpuForm:
    """A GPU form is a kernel compiled for GPUs, for arguments of some types and sizes, or the reason why it cannot be.

    types: the types of the arguments.
    sizes: the sizes that the code was made for; None: for all.
    in_turn: whether it was made for a device that runs the threads of a block one after another.
    artifact: the launches and their text; None where there is a problem.
    timings: {stage: seconds} of the compilation, or of the load from the cache.
    problem: why there is no code; None where there is.
    from_cache: whether it came from the disk cache.
    codes: the code on each device on which it has run.
    """

    types: tuple[ArgType, ...]
    sizes: Sizes | None
    in_turn: bool
    artifact: GpuArtifact | None = None
    timings: dict[str, float] = field(default_factory=dict)
    problem: PolymlError | None = None
    from_cache: bool = False
    codes: dict[Driver, GpuCode] = field(default_factory=dict)

    @property
    def made(self) -> GpuArtifact:
        """Returns the artifact. Raises ValueError where there is no code."""
        if self.artifact is None:
            raise ValueError("the form runs as plain Python")
        return self.artifact

    @property
    def is_sized(self) -> bool:
        """Returns whether the form has code that is for some sizes of arrays only."""
        return self.artifact is not None and self.artifact.sized

    def code_on(self, driver: Driver, cache: Cache | None) -> GpuCode:
        """Returns the code on a device, compiled by its driver at the first call there.

        cache: where the device's code is kept; None: nowhere.
        """
        found = self.codes.get(driver)
        if found is None:
            start = perf_counter()
            found = self.codes[driver] = call.compiled(self.made, driver, cache)
            self.timings[driver.dialect] = perf_counter() - start
        return found


def kept(cache: Cache, names: Sequence[str], wanted: tuple) -> tuple[GpuArtifact, dict[str, float]] | None:
    """Returns the artifact that the disk cache has under one of the names, and the seconds that its load took; None where it has
    none. What is damaged, or for something else, is removed.

    names: that for the call's sizes first.
    wanted: the name, parameters, types and language, as `GpuArtifact.is_for` takes them.
    """
    for name in names:
        start = perf_counter()
        content = cache.get(name)
        if content is None:
            continue
        try:
            artifact = GpuArtifact.from_bytes(content)
        except Damaged:
            cache.remove(name)
            continue
        if not artifact.is_for(*wanted):
            cache.remove(name)
        elif not artifact.sized or name == names[0]:
            return artifact, {"cache": perf_counter() - start}
    return None


def shapes_of(given: Sequence[CallArgument]) -> dict[str, tuple[int, ...]]:
    """Returns {name: shape} of the arguments that are arrays, in memory or on a device."""
    return {each.name: each.value.shape for each in given if isinstance(each.value, (np.ndarray, DeviceArray))}
