"""The exit status of all commands: the same fault ends every command with the same number.

0  what was asked for is done
1  the answer is no: a kernel is refused, raises, or its results are wrong; a schedule breaks a dependence
2  what is typed, or a file that it names, cannot be used
3  a defect of polyml
"""

from __future__ import annotations

from polyml.errors import CompileError, ConfigError, PassError, PolymlError, ScheduleError, TextError

DONE, REFUSED, USAGE, DEFECT = 0, 1, 2, 3


def status_of(error: Exception) -> int:
    """Returns the exit status of a command that ends with an exception.

    >>> status_of(ConfigError("there is no file k.py")), status_of(PolymlError("k raised IndexError")), status_of(KeyError("S0"))
    (2, 1, 3)
    """
    if isinstance(error, ConfigError | ScheduleError | TextError):
        return USAGE
    if isinstance(error, CompileError | PassError):
        return DEFECT
    return REFUSED if isinstance(error, PolymlError | MemoryError) else DEFECT
