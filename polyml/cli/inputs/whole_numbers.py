"""Whole numbers as options take them."""

from __future__ import annotations

import click

from polyml.reading.input_limits import shown, whole_number


class Whole(click.ParamType):
    """The type of a click option that takes a whole number from `least` to `most`, which its constructor gets. For any other value,
    the command ends with an error that names these limits.
    """

    name = "integer"

    def __init__(self, least: int, most: int):
        self._least, self._most = least, most

    def convert(self, value: object, parameter: click.Parameter | None, context: click.Context | None) -> int:
        found = whole_number(str(value), self._least, self._most)
        if found is None:
            self.fail(f"{shown(value)} is no whole number from {self._least} to {self._most:,}.", parameter, context)
        return found
