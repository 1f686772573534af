"""The page of a kernel, as `Kernel.explore` returns it: shown in a notebook, saved to a file, served on the loopback address."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from os import PathLike
from typing import TYPE_CHECKING

from polyml.errors import ConfigError, PolymlTypeError
from polyml.explorer import page
from polyml.explorer.answers import MOST_SIZE, Answers, count_bound
from polyml.explorer.exploration import MOST_DRAWN, Exploration, usual_sizes
from polyml.explorer.server import Server, serve
from polyml.model.core.scop import Scop
from polyml.pictures.nests import parameters
from polyml.reading import userfiles
from polyml.reading.input_limits import shown
from polyml.schedule.script.schedule import Schedule
from polyml.values import cached_property

if TYPE_CHECKING:
    from polyml.api.exploring.widget import PageWidget

MOST_CHOICES = 6  # of sizes
MOST_TILES, LARGEST_TILE = 6, 4_096


class Explored:
    """A page that explores and steers a kernel.

    html: its text, which works as a file without a network.
    schedule: from which its steps are taken.
    """

    def __init__(self, exploration: Exploration, start: str):
        """start: what the page writes in `k.schedule(...)`."""
        self._exploration, self._start = exploration, start
        self._server: Server | None = None
        self._widget: PageWidget | None = None

    @property
    def schedule(self) -> Schedule:
        return self._exploration.schedule

    @cached_property
    def _data(self) -> dict[str, object]:
        return {**self._exploration.data(), "start": self._start}

    @cached_property
    def _answers(self) -> Answers:
        return Answers(self._exploration)

    @cached_property
    def html(self) -> str:
        return page.page(self._data)

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the page to a file. Raises ConfigError where that cannot be written."""
        try:
            userfiles.write_text(path, self.html)
        except (OSError, ValueError, TypeError) as problem:
            why = userfiles.reason(problem)
            raise ConfigError(f"the page cannot be written to {userfiles.called(path)}: {why}") from problem

    def serve(self, port: int = 0) -> str:
        """Starts the server that answers the page with any sequence of steps, unless it runs, and returns the page's address.

        The server is reached from this computer alone, and by those who know the address; it ends with the program, or with `close`.

        port: 0: any that is free. Raises ConfigError where it cannot be had.
        """
        if type(port) is not int or not 0 <= port < 65_536:
            raise ConfigError(f"a port is an integer from 0 to 65,535, not {shown(port)}")
        if self._server is None:
            try:
                self._server = serve(self._answers, lambda address: page.page(self._data, address), port)
            except OSError as problem:
                raise ConfigError(f"no page can be served on port {port}: {userfiles.reason(problem)}") from None
        return self._server.address

    def close(self) -> None:
        """Ends the server; the page then knows single steps alone."""
        if self._server is not None:
            self._server.close()
        self._server = None

    def __repr__(self) -> str:
        return f"<page of {self._exploration.scop.name}: save(FILE) writes it, serve() gives the address of one that answers all steps>"

    def _ipython_display_(self) -> None:
        """Shows the page as a widget, which the kernel of the notebook answers, and before it the saved page, which the widget hides: whoever
        has no widgets, such as a notebook that is exported, sees that. Raises NotImplementedError outside a notebook and without anywidget,
        whereupon IPython shows `_repr_html_` or the repr.
        """
        if not _is_in_notebook() or find_spec("anywidget") is None:
            raise NotImplementedError
        from IPython.display import display

        if self._widget is None:
            from polyml.api.exploring.widget import PageWidget

            self._widget = PageWidget(self._answers, page.page(self._data, page.IN_NOTEBOOK))
        saved = f'<div id="{self._widget.saved}">{page.frame(self.html)}</div>'
        display({"text/plain": repr(self), "text/html": saved}, raw=True)
        display(self._widget)

    def _repr_html_(self) -> str:
        """Returns the page in a frame, answered by a server in the kernel of the notebook as long as that runs."""
        return page.frame(page.page(self._data, self.serve()))


def _is_in_notebook() -> bool:
    """Returns whether a kernel of Jupyter runs this program, and not a terminal."""
    try:
        return getattr(sys.modules["IPython"].get_ipython(), "kernel", None) is not None
    except (AttributeError, KeyError):
        return False


def explored(
    schedule: object, start: str, sizes: Mapping[str, int] | Sequence[Mapping[str, int]] | None, tiles: Sequence[int]
) -> Explored:
    """Returns the page of a schedule. Raises what `Kernel.explore` raises."""
    if not isinstance(schedule, Schedule):
        notes = ["as k.schedule() and k.load_schedule(path) give"]
        raise PolymlTypeError(f"explore takes a schedule, not a {type(schedule).__name__}", notes=notes)
    if schedule.problem.on_gpu:
        notes = ["polyml.kernel(f) without a target makes one for processors"]
        raise ConfigError("a page steers kernels for processors, and this one is for a GPU", notes=notes)
    with schedule.problem.alone():
        choices = _sizes(schedule.problem.scop, sizes)
    return Explored(Exploration(schedule, choices, _tiles(tiles)), start)


def _tiles(given: Sequence[int]) -> tuple[int, ...]:
    """Returns the sizes of tiles, each once. Raises ConfigError for others."""
    found = tuple(given) if isinstance(given, Sequence) and not isinstance(given, str) else ()
    if not 1 <= len(found) <= MOST_TILES or any(type(size) is not int or not 2 <= size <= LARGEST_TILE for size in found):
        raise ConfigError(
            f"tiles are 1 to {MOST_TILES} sizes from 2 to {LARGEST_TILE:,}, not {shown(given)}", notes=["as in tiles=(4, 32)"]
        )
    return tuple(sorted({*found}))


def _sizes(scop: Scop, given: Mapping[str, int] | Sequence[Mapping[str, int]] | None) -> tuple[Mapping[str, int], ...]:
    """Returns the choices of sizes for pictures. Raises ConfigError for others, and for sizes with too many instances."""
    if given is None:
        return usual_sizes(scop)
    found = (
        [given] if isinstance(given, Mapping) else [*given] if isinstance(given, Sequence) and not isinstance(given, str) else []
    )
    names = parameters(scop)
    if not 1 <= len(found) <= MOST_CHOICES or not all(isinstance(each, Mapping) for each in found):
        raise ConfigError(
            f"sizes are {{name: value}}, or 1 to {MOST_CHOICES} of those, not {shown(given)}",
            notes=[f"sizes: {', '.join(names) or 'none'}"],
        )
    usual = usual_sizes(scop)[0]
    return tuple(_checked(scop, each, names, usual) for each in found)


def _checked(scop: Scop, given: Mapping[str, int], names: Sequence[str], usual: Mapping[str, int]) -> dict[str, int]:
    """Returns a value for each size. Raises ConfigError for another name or value."""
    for name, value in given.items():
        if name not in names:
            raise ConfigError(f"there is no size {shown(name)}", notes=[f"sizes: {', '.join(names) or 'none'}"])
        if type(value) is not int or not 0 <= value <= MOST_SIZE:
            raise ConfigError(f"{name} is an integer from 0 to {MOST_SIZE}, not {shown(value)}")
    values = {name: given.get(name, usual.get(name, 4)) for name in names}
    if count_bound(scop, values) > MOST_DRAWN:
        raise ConfigError(f"more than {MOST_DRAWN:,} instances are not drawn", notes=["sizes of 4 to 10 can be seen"])
    return values
