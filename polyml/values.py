"""What the classes of polyml's values share: properties that are computed once.

`functools.cached_property` takes a lock each time that it computes a value, up to Python 3.11; without the lock two threads may both
compute it, and get equal values.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING or sys.version_info >= (3, 12):
    from functools import cached_property
else:

    class cached_property:  # noqa: N801 (the name that it has in functools)
        """A property that is computed when it is first read, and kept in the object's `__dict__`."""

        def __init__(self, function: Callable[[Any], Any]):
            self.func, self.__doc__ = function, function.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self._name] = self.func(instance)
            return value
