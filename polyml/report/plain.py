"""Values as plain data with all that they know, so that nothing is left out of the JSON because somebody forgot to list it."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import MappingProxyType

from polyml.values import cached_property

_PROPERTIES = (property, cached_property, functools.cached_property)


def plain(value: object, names: Mapping[str, str] = MappingProxyType({})) -> dict[str, object]:
    """Returns a dataclass's fields and public properties by name, with dataclasses in them as dictionaries too.

    names: how some of them are called in the JSON, where that is not their own name.

    >>> from polyml.machines.cpu import CacheLevel
    >>> plain(CacheLevel(1, 32768, 8, 64, 1), {"level": "number"})["number"], plain(CacheLevel(1, 32768, 8, 64, 1))["sets"]
    (1, 64)
    """
    return {names.get(name, name): _value(getattr(value, name)) for name in attributes(type(value))}


def attributes(kind: type) -> Iterator[str]:
    """Yields the names of a dataclass's fields, and of its public properties. Raises TypeError for a class that is none."""
    if not is_dataclass(kind):
        raise TypeError(f"{kind.__name__} is no dataclass")
    yield from (each.name for each in fields(kind))
    for parent in reversed(kind.__mro__):
        for name, found in vars(parent).items():
            if isinstance(found, _PROPERTIES) and not name.startswith("_"):
                yield name


def _value(value: object) -> object:
    """Returns the value with dataclasses in it as dictionaries, and tuples as lists."""
    if is_dataclass(value):
        return plain(value)
    if isinstance(value, Mapping):
        return {key: _value(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_value(each) for each in value]
    return value
