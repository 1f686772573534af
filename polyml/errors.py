"""Every error polyml raises: one family, each with a location or a witness and what would be accepted."""

from __future__ import annotations

from collections.abc import Sequence

from polyml.source import Loc

_LONGEST = 1_500  # characters of a message or a note: whoever wrote more of what it repeats does not want it all back


class PolymlError(Exception):
    """Base of all errors. Its text is

        FILE:LINE:COL: error: MESSAGE
              source line
              ^^^^^^
          note: what would be accepted

    code: which of `polyml.reasons` it is where a call runs as plain Python because of it.
    """

    code = "PML-F070"

    def __init__(self, message: str, *, loc: Loc | None = None, notes: Sequence[str] = (), code: str | None = None):
        self.message, self.loc, self.notes = shortened(message), loc, tuple(map(shortened, notes))
        self.code = code or self.code
        super().__init__(self.render())

    def noted(self, *notes: str) -> PolymlError:
        """The same with more notes."""
        return type(self)(self.message, loc=self.loc, notes=[*self.notes, *notes], code=self.code)

    def render(self) -> str:
        head = f"{self.loc}: error: {self.message}\n{self.loc.excerpt()}" if self.loc else f"error: {self.message}"
        return "\n".join([head, *(f"  note: {note}" for note in self.notes)])


def shortened(text: str) -> str:
    """A text without its middle, where it is very long.

    >>> shortened("x" * 5000).replace("x" * 700, "x")
    'x ... (3,600 characters) ... x'
    """
    end = (_LONGEST - 100) // 2
    return text if len(text) <= _LONGEST else f"{text[:end]} ... ({len(text) - 2 * end:,} characters) ... {text[-end:]}"


class LanguageError(PolymlError):
    """The source uses something outside the language; nothing runs."""


class NotAffineError(LanguageError):
    """Legal Python that is not affine: the kernel runs as plain Python, with a PolymlPerformanceWarning,
    unless `fallback="error"`."""

    code = "PML-F020"


class SizesNeeded(NotAffineError):
    """It is affine where sizes and numbers are known: the kernel is compiled for those of each call."""


class PolymlTypeError(PolymlError, TypeError):
    """Argument types, or an operation between types, that the language does not have."""

    code = "PML-F040"


class PolymlValueError(PolymlError, ValueError):
    """An argument of the right type that cannot be used: read-only where it is written, or a size below zero."""

    code = "PML-F051"


class PolymlMemoryError(PolymlError, MemoryError):
    """There is not enough memory for the kernel's temporaries or results."""


class BoundsError(PolymlError, IndexError):
    """A subscript would leave its array for the sizes of this call. Raised before anything is written."""


class PolymlOverflowError(PolymlError, OverflowError):
    """A Python int left 64 bits, or a value does not fit the type it is stored in."""

    code = "PML-F041"


class IllegalSchedule(PolymlError):
    """A schedule breaks a dependence; the message names a smallest pair of instances."""


class ScheduleError(PolymlError, ValueError):
    """A schedule that cannot be what is asked: a loop that does not exist, a step that does not fit, a damaged file."""


class TextError(PolymlError, ValueError):
    """The text of a kernel, a SCoP or a program has something in it that its grammar does not; the message shows where."""


class NoFileError(ScheduleError, FileNotFoundError):
    """There is no file of the name from which a schedule is to be loaded."""


class ConfigError(PolymlError, ValueError):
    """A setting that does not exist, or a value it does not take."""


class RecompileError(PolymlError):
    """A call needs other code than there is, and `recompile="fail"` lets none be made."""

    code = "PML-F061"


class CompileError(PolymlError):
    """A stage of the compiler failed; the message names the stage. Always a defect of polyml. stages: (name, text) of what those
    before it made, where that is known.
    """

    stages: tuple[tuple[str, str], ...] = ()


class PassError(PolymlError):
    """A pass made something else than it was given, which the setting `check` looks for; the message names the pass, the statement
    instance and the element. Always a defect of polyml, and never passed over.
    """


class PolymlDefectWarning(UserWarning):
    """The compiler failed on a kernel, which runs in a simpler form; the text names the stage and the form. A defect of polyml."""


class PolymlPerformanceWarning(UserWarning):
    """A kernel, or a part of it, runs slower than it could; the text names file:line and the reason."""
