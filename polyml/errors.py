"""The errors and warnings of polyml. Each error has a place in the source or a witness, and says what would be accepted."""

from __future__ import annotations

import builtins
from collections.abc import Sequence

from polyml import tracebacks
from polyml.source import Loc

NO_BROADCAST = "operands could not be broadcast together"  # where NumPy's text goes on with the shapes
UNEXPECTED = "Unexpected"  # what a kernel raises where an argument is not what its code expects; other code runs the call then
NO_FIT = "could not broadcast input array into another shape"  # where NumPy's text has the shapes
WITHOUT_NUMBERS = frozenset({  # texts in which NumPy has numbers of the call
    NO_BROADCAST, NO_FIT, "index is out of bounds for array with size", "`bins` must be monotonically increasing, when an array",
    "autodetected range with an infinite end is not finite", "Too many bins for data range. Cannot create so many finite-sized bins.",
})  # fmt: skip
_LONGEST = 1_500  # characters of a message or a note: whoever wrote more of what it repeats does not want it all back


def python_exception(name: str) -> type[Exception] | None:
    """Returns Python's own exception of a name, None where it has no such one.

    >>> python_exception("ValueError"), python_exception("print")
    (<class 'ValueError'>, None)
    """
    found = getattr(builtins, name, None)
    return found if isinstance(found, type) and issubclass(found, Exception) and found.__name__ == name else None


class PolymlError(Exception):
    """The base of all errors of polyml. Its text is

        FILE:LINE:COL: error: MESSAGE
              source line
              ^^^^^^
          note: what would be accepted

    message: one sentence, without the location.
    loc: the location in the source; None where there is none.
    notes: lines that follow the message, such as what would be accepted.
    code: the number, one of `polyml.reasons`, that the warning gives where a call runs as plain Python because of this error.

    >>> import polyml
    >>> try:
    ...     polyml.config.scope(threads=1000)
    ... except polyml.PolymlError as problem:
    ...     print(problem)
    error: the setting `threads` does not take 1000
      note: it takes a number of threads from 1 to 256, or 0 for every core
    """

    code = "PML-F070"
    keeps_traceback = False  # the setting `traceback` was "full" where it was raised

    def __init__(self, message: str, *, loc: Loc | None = None, notes: Sequence[str] = (), code: str | None = None):
        self.message, self.loc, self.notes = shortened(message), loc, tuple(map(shortened, notes))
        self.code = code or self.code
        super().__init__(self.render())

    def noted(self, *notes: str) -> PolymlError:
        """Returns a copy of the error with `notes` after those it has."""
        return type(self)(self.message, loc=self.loc, notes=[*self.notes, *notes], code=self.code)

    def at(self, loc: Loc | None) -> PolymlError:
        """Returns a copy of the error with a location, if it has none."""
        return self if self.loc or loc is None else type(self)(self.message, loc=loc, notes=self.notes, code=self.code)

    def render(self) -> str:
        """Returns the error's text: its location, its message, the source line with carets, and its notes."""
        head = f"{self.loc}: error: {self.message}\n{self.loc.excerpt()}" if self.loc else f"error: {self.message}"
        return "\n".join([head, *(f"  note: {note}" for note in self.notes)])

    def ends_at_users_line(self) -> bool:
        """Returns whether the traceback need not show where in polyml the error was raised: it is no defect of polyml."""
        return not isinstance(self, CompileError | PassError) and not self.keeps_traceback

    def _render_traceback_(self) -> list[str]:
        """Returns the lines that IPython and Jupyter show: the user's own, then the error's text."""
        return tracebacks.rendered(self) if self.ends_at_users_line() and not tracebacks.is_whole() else tracebacks.whole(self)


def shortened(text: str) -> str:
    """Returns a very long text with its middle replaced by how many characters are left out, and any other text unchanged.

    >>> shortened("x" * 5000).replace("x" * 700, "x")
    'x ... (3,600 characters) ... x'
    """
    end = (_LONGEST - 100) // 2
    return text if len(text) <= _LONGEST else f"{text[:end]} ... ({len(text) - 2 * end:,} characters) ... {text[-end:]}"


class LanguageError(PolymlError):
    """The source of a kernel uses something that polyml's language does not have. None of the kernel has run when it is raised.

    >>> import polyml
    >>> @polyml.kernel(fallback="error")
    ... def halved(n):
    ...     global m
    ...     return n // 2
    >>> try:
    ...     halved(9)
    ... except polyml.LanguageError as problem:
    ...     print(problem.message)
    global is not part of the language
    """


class ValueNeeded(LanguageError):
    """A function uses a number where the language has constants alone, so it may be compiled for the value of an int in each call."""


class NotAffineError(LanguageError):
    """A function is legal Python, but not affine, so that it is not compiled as a whole.

    Unless `fallback="error"`, a call does not raise it, but runs the function as plain Python with a PolymlPerformanceWarning.

    >>> import numpy as np, polyml
    >>> @polyml.kernel(fallback="error")
    ... def counted(A):
    ...     counts = np.zeros(3)
    ...     if A[0] > 2:
    ...         counts = np.zeros(A.shape[0])
    ...     return counts.sum()
    >>> try:
    ...     counted(np.array([1, 2, 1]))
    ... except polyml.NotAffineError as problem:
    ...     print(problem.message)
    `counts` is bound to an array under a condition
    """

    code = "PML-F020"


class SizesNeeded(NotAffineError):
    """A function is affine only for known sizes and integer arguments, so it has to be compiled for the values of each call."""


class PolymlTypeError(PolymlError, TypeError):
    """A kernel's arguments have types, or an operation combines types, that polyml's language does not have.

    >>> import polyml
    >>> @polyml.kernel
    ... def double(A):
    ...     for i in range(A.shape[0]):
    ...         A[i] *= 2.0
    >>> double.lower("f99[:]")
    Traceback (most recent call last):
    polyml.errors.PolymlTypeError: error: `A`: 'f99[:]' is not a type; element types: c128, c64, f64, ...
    """

    code = "PML-F040"


class PolymlValueError(PolymlError, ValueError):
    """An argument has the right type but cannot be used, such as a read-only array that the kernel writes, or a size below zero.

    >>> import numpy as np, polyml
    >>> @polyml.kernel(fallback="error")
    ... def double(A):
    ...     for i in range(A.shape[0]):
    ...         A[i] *= 2.0
    >>> try:
    ...     double(np.broadcast_to(1.0, 4))
    ... except polyml.PolymlValueError as problem:
    ...     print(problem.message)
    argument `A` is written, but the array is read-only
    """

    code = "PML-F051"


class PolymlMemoryError(PolymlError, MemoryError):
    """There is not enough memory for a kernel's temporaries or results, or for its compilation.

    >>> import numpy as np, polyml
    >>> @polyml.kernel
    ... def zeros(n):
    ...     return np.zeros(n)
    >>> try:
    ...     zeros(2**45)
    ... except polyml.PolymlMemoryError as problem:
    ...     print(problem.message)
    there is no room for the result: Unable to allocate 256. TiB for an array ...
    """


class BoundsError(PolymlError, IndexError):
    """A subscript would leave its array for the sizes of this call. It is raised before the kernel writes anything.

    >>> import numpy as np, polyml
    >>> @polyml.kernel
    ... def shift(A, B):
    ...     for i in range(A.shape[0]):
    ...         B[i] = A[i + 1]
    >>> try:
    ...     shift(np.ones(3), np.ones(3))
    ... except polyml.BoundsError as problem:
    ...     print(problem.message, problem.notes[0], sep=", ")
    `A[i + 1]` is out of bounds: index 3 in dimension 0 of size 3, at i = 2
    """


class PolymlZeroDivisionError(PolymlError, ZeroDivisionError):
    """A Python int was divided by zero by // or %, in a part of a kernel that runs in the source's order, since data decide what it does.

    >>> import polyml
    >>> @polyml.kernel
    ... def digits(n, base):
    ...     count = 0
    ...     while n > 0:
    ...         n //= base
    ...         count += 1
    ...     return count
    >>> digits(1000, 10)
    4
    >>> try:
    ...     digits(1000, 0)
    ... except polyml.PolymlZeroDivisionError as problem:
    ...     print(problem.message)
    `n //= base` divides by zero
    """


class PolymlOverflowError(PolymlError, OverflowError):
    """A Python int left 64 bits, or a value does not fit the type in which it is stored.

    >>> import polyml
    >>> @polyml.kernel
    ... def factorial(n):
    ...     product = 1
    ...     for i in range(1, n + 1):
    ...         product = product * i
    ...     return product
    >>> try:
    ...     print(factorial(20))
    ...     factorial(25)
    ... except polyml.PolymlOverflowError as problem:
    ...     print(problem.message)
    2432902008176640000
    a Python integer left 64 bits in `factorial`
    """

    code = "PML-F041"


class IllegalSchedule(PolymlError):
    """A schedule breaks a dependence. The message names a smallest pair of instances which shows that.

    >>> import polyml
    >>> @polyml.kernel
    ... def prefix_sums(A):
    ...     for i in range(1, A.shape[0]):
    ...         A[i] += A[i - 1]
    >>> try:
    ...     prefix_sums.schedule("source", "f64[:]").parallel("i")
    ... except polyml.IllegalSchedule as problem:
    ...     print(problem.message)
    step 1, parallel(i) is not legal: S0[2] depends on S0[1], so their loop cannot be parallel
    """


class ScheduleError(PolymlError, ValueError):
    """A schedule cannot be made: it names a loop that does not exist, a step cannot be applied, or its file is damaged.

    >>> import polyml
    >>> @polyml.kernel
    ... def prefix_sums(A):
    ...     for i in range(1, A.shape[0]):
    ...         A[i] += A[i - 1]
    >>> try:
    ...     prefix_sums.schedule("source", "f64[:]").tile({"k": 8})
    ... except polyml.ScheduleError as problem:
    ...     print(problem.message)
    step 1, tile(k=8): there is no loop `k`
    """


class TextError(PolymlError, ValueError):
    """The text of a kernel, a SCoP or a program does not follow its grammar. The message says where."""


class NoFileError(ScheduleError, FileNotFoundError):
    """The file from which a schedule is to be loaded does not exist."""


class ConfigError(PolymlError, ValueError):
    """A setting or an option does not exist, or does not take the value that it is given. The message says what it takes.

    >>> import polyml
    >>> try:
    ...     polyml.kernel(speed="high")
    ... except polyml.ConfigError as problem:
    ...     print(problem.message)
    there is no setting `speed`
    """


class RecompileError(PolymlError):
    """A call needs code that has not been compiled, and the setting `recompile="fail"` forbids compiling it.

    >>> import numpy as np, polyml
    >>> @polyml.kernel(recompile="fail")
    ... def double(A):
    ...     for i in range(A.shape[0]):
    ...         A[i] *= 2.0
    >>> double(np.ones(4))
    >>> try:
    ...     double(np.ones(4, np.float32))
    ... except polyml.RecompileError as problem:
    ...     print(problem.message)
    `double` has no code for (f32[:]), and recompile='fail'
    """

    code = "PML-F061"


class CompileError(PolymlError):
    """A stage of the compiler failed, which is always a defect of polyml. The message names the stage.

    It is raised where `on_defect="raise"`; otherwise the call goes on with code made by fewer transformations, or as plain Python.

    stages: (name, text) of what each stage before the failing one made, where that is known.

    >>> import polyml
    >>> print(polyml.CompileError("stage vectorize failed: KeyError: 'S0'", notes=["this is a defect of polyml"]))
    error: stage vectorize failed: KeyError: 'S0'
      note: this is a defect of polyml
    """

    stages: tuple[tuple[str, str], ...] = ()


class DeviceError(PolymlError, RuntimeError):
    """The device that a kernel runs on, such as a GPU, failed during a call: a launch or a copy ended with an error of its driver.

    What NumPy arrays hold is as it was before the call. Device arrays may be partly written.

    >>> import polyml
    >>> print(polyml.DeviceError("the device failed: a launch of double_0: an illegal memory access"))
    error: the device failed: a launch of double_0: an illegal memory access
    """


class PassError(PolymlError):
    """A pass changed the meaning of what it was given, which is looked for where the setting `check` is on.

    The message names the pass, the statement's instance and the element that differs. It is always a defect of polyml, and is
    raised whatever `on_defect` says.
    """


class PolymlDefectWarning(UserWarning):
    """The compiler failed on a kernel, a defect of polyml, and the call goes on with fewer transformations or as plain Python.

    The text names the stage that failed, and what the kernel runs as instead.

    >>> import warnings, polyml
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", polyml.PolymlDefectWarning)  # makes the next such warning an error
    """


class PolymlPerformanceWarning(UserWarning):
    """A kernel, or a part of it, runs slower than it could, such as one that runs as plain Python. The text names file, line and
    reason.

    >>> import warnings, numpy as np, polyml
    >>> @polyml.kernel
    ... def halved(n):
    ...     global m
    ...     return n // 2
    >>> with warnings.catch_warnings(record=True) as found:
    ...     warnings.simplefilter("always")
    ...     print(halved(9), found[0].category.__name__)
    4 PolymlPerformanceWarning
    """
