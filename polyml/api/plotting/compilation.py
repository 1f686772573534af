"""Pictures of compilations: where the time went."""

from __future__ import annotations

from collections.abc import Mapping

from polyml.api.decorator import Kernel
from polyml.drawing.svg import Svg
from polyml.errors import ConfigError, PolymlTypeError
from polyml.pictures.graphs.compilation import compilation_svg
from polyml.pipeline.compile import Compiled


def drawn(of: object, what: str, sizes: Mapping[str, int]) -> Svg:
    """Returns the picture of a compilation, of a kernel of one that is made anew for its last call. Raises what `polyml.plot` raises."""
    if sizes:
        raise ConfigError("the picture compilation takes no sizes", notes=["a kernel is compiled for its last call"])
    found = of.lower() if isinstance(of, Kernel) else of
    if not isinstance(found, Compiled):
        notes = ["expected a kernel that has been called, or what its method `lower` returns"]
        raise PolymlTypeError(f"polyml.plot draws no compilation of a {type(of).__name__}", notes=notes)
    return compilation_svg(found.kernel.name, found.passes)
