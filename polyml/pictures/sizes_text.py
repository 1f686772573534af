"""The sizes for which a picture is drawn, in words."""

from __future__ import annotations

from collections.abc import Mapping

from polyml.model.core.printer import parameter_text
from polyml.model.core.scop import Scop


def sizes_text(sizes: Mapping[str, int]) -> str:
    """Returns the end of a caption: " for N = 4, M = 5", or " for sizes of 4" where many are alike; "" where there are none.

    >>> sizes_text({"N": 4, "M": 5}), sizes_text({"A_0": 4, "A_1": 4, "B_0": 4}), sizes_text({})
    (' for N = 4, M = 5', ' for sizes of 4', '')
    """
    if len(sizes) > 2 and len({*sizes.values()}) == 1:
        return f" for sizes of {next(iter(sizes.values())):,}"
    return f" for {', '.join(f'{name} = {value}' for name, value in sizes.items())}" if sizes else ""


def source_sizes(scop: Scop, sizes: Mapping[str, int]) -> dict[str, int]:
    """Returns sizes by what they are in the source, such as {"A.shape[0]": 4}.

    sizes: {parameter: value}.
    """
    meanings = {p.name: parameter_text(p).partition(" = ")[2] for p in scop.parameters}
    return {meanings.get(name, name): value for name, value in sizes.items()}
