"""What the functions of this folder require of their arguments."""

from __future__ import annotations


def required(condition: bool, what: str) -> None:
    """Stands for a condition that must hold for a call to run compiled; a call in which it does not hold runs as plain Python.

    what: a description of the calls in which it does not hold, for messages
    """
    if not condition:
        raise ValueError(what)
