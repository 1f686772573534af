"""Tracebacks that end at the user's line: what polyml calls inside itself is left out of them, unless the setting `traceback` is "full".

File "mine.py", line 9: k(A)                       File "mine.py", line 9: k(A)
File "polyml/api/decorator.py", line 112: ...  ->  File "polyml/api/decorator.py", line 112: ...
File "polyml/api/specialised.py", line 61: ...     polyml.errors.NotAffineError: mine.py:4:11: error: ...
...
"""

from __future__ import annotations

import ast
import functools
import linecache
import os
import traceback
from collections.abc import Callable, Iterator
from types import FunctionType, TracebackType
from typing import TypeVar, cast

from polyml.source import Loc, reader_name, whole_file

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
_KERNELS = os.path.join(_OWN, "kernels") + os.sep  # are like a user's files
_SHELL = os.sep + os.path.join("IPython", "core", "interactiveshell.py")
_WIDTH = 75  # of the line above a traceback, as IPython draws it

_Function = TypeVar("_Function", bound=Callable)
_Class = TypeVar("_Class", bound=type)


class _Asked:
    """Says whether whole tracebacks are asked for. `polyml.config`, which stands above this module, replaces `whole`."""

    whole: Callable[[], bool] = staticmethod(lambda: False)


def ask(whole: Callable[[], bool]) -> None:
    """Sets the function that says whether tracebacks are left as they are."""
    _Asked.whole = staticmethod(whole)


def is_whole() -> bool:
    """Returns whether tracebacks are left as they are."""
    try:
        return _Asked.whole()
    except Exception:  # a setting of the environment is wrong, which another error says
        return False


def is_own(file: str) -> bool:
    """Returns whether a file is one of polyml's own, in which users look for nothing."""
    return file.startswith(_OWN) and not file.startswith(_KERNELS)


def for_user(error: BaseException, users_file: str = "") -> BaseException:
    """Returns an exception that leaves polyml, with a traceback that has the user's lines alone.

    An exception of polyml, which has a method `ends_at_users_line` that returns True, loses all frames of the place where it is raised. Any other
    one, which the user's function raised, or Python where the user's arguments do not fit a public function, loses polyml's frames between
    the user's. Where polyml itself failed, all stay.

    users_file: the file of a function that polyml runs as plain Python.
    """
    ends = getattr(error, "ends_at_users_line", None)
    if is_whole():
        if ends is not None:
            vars(error)["keeps_traceback"] = True  # also where it is shown outside the scope that asks for it
        return error
    if ends is not None:
        if ends():
            context = error.__context__
            if context is not None and any(
                is_own(each.tb_frame.f_code.co_filename) for each in [*_frames(context.__traceback__)][:1]
            ):
                error.__suppress_context__ = True
            return error.with_traceback(_users(error.__traceback__))
        return error
    files = [each.tb_frame.f_code.co_filename for each in _frames(error.__traceback__)]
    inner = files[1 + max((k for k, file in enumerate(files) if is_own(file)), default=-1) :]
    is_of_call = files[-1:] == [__file__]  # arguments that the public function does not take
    is_of_user = bool(inner) and whole_file(inner[0]) == users_file
    return error.with_traceback(_users(error.__traceback__)) if is_of_call or is_of_user else error


def _frames(found: TracebackType | None) -> Iterator[TracebackType]:
    while found is not None:
        yield found
        found = found.tb_next


def _users(found: TracebackType | None) -> TracebackType | None:
    """Returns a traceback without polyml's own frames."""
    kept: TracebackType | None = None
    for each in reversed([*_frames(found)]):
        if not is_own(each.tb_frame.f_code.co_filename):
            kept = TracebackType(kept, each.tb_frame, each.tb_lasti, each.tb_lineno)
    return kept


def raised_at(error: Exception, loc: Loc | None, function: str) -> Exception:
    """Returns an exception as if a line of the user's function had raised it.

    loc: the line; None where it is not known
    """
    if loc is None:
        return error
    tree = ast.increment_lineno(ast.parse("raise error"), loc.line - 1)
    code = compile(tree, loc.source.file, "exec").replace(co_name=function)
    try:
        exec(code, {"error": error})
    except Exception as made:
        own = made.__traceback__
        return made.with_traceback(None if own is None else own.tb_next)
    return error


def guarded(function: _Function, taken: Callable[[object], object] | None = None) -> _Function:
    """Makes exceptions that leave a public function end at the user's line.

    The function that is returned has the globals of the one that is given, so that doctest finds its examples.

    taken: what is made of each argument before the function gets it; None: it gets them as they are.
    """
    shown = for_user

    def call(*args, **kwargs):
        __tracebackhide__ = True
        try:
            if taken is not None:
                args, kwargs = tuple(map(taken, args)), {name: taken(value) for name, value in kwargs.items()}
            return function(*args, **kwargs)
        except Exception as error:
            users = shown(error)
            raise users

    of = cast(FunctionType, function)
    made = FunctionType(call.__code__, of.__globals__, of.__name__, None, call.__closure__)
    return cast(_Function, functools.update_wrapper(made, function))


def guard_methods(owner: _Class, taken: Callable[[object], object] | None = None) -> _Class:
    """Makes exceptions that leave the public methods of a class, those that its own body defines, end at the user's line.

    taken: as for `guarded`.
    """
    for name, value in vars(owner).copy().items():
        if isinstance(value, FunctionType) and not name.startswith("_") and not hasattr(value, "__wrapped__"):
            setattr(owner, name, guarded(value, taken))
    return owner


def rendered(error: BaseException) -> list[str]:
    """Returns an exception as IPython and Jupyter show it: the user's lines, and below them the error's text.

    NotAffineError                            Traceback (most recent call last)
    Cell In[2], line 5
    ----> 5 k(A)

    Cell In[2]:3:11: error: subscript `i * i` is not affine in the loop variables
    """
    name = type(error).__name__
    lines = ["-" * _WIDTH, f"{name}{'Traceback (most recent call last)'.rjust(_WIDTH - len(name))}"]
    frames = [*_frames(error.__traceback__)]
    shells = [k for k, each in enumerate(frames) if each.tb_frame.f_code.co_filename.endswith(_SHELL)]
    for each in frames[shells[-1] + 1 if shells else 0 :]:
        code = each.tb_frame.f_code
        if is_own(code.co_filename):
            continue
        where = f" in {code.co_name}" if code.co_name != "<module>" else ""
        source = linecache.getline(code.co_filename, each.tb_lineno).strip()
        lines += [f"{reader_name(code.co_filename)}, line {each.tb_lineno}{where}", f"----> {each.tb_lineno} {source}", ""]
    return [*lines, str(error)]


def whole(error: BaseException) -> list[str]:
    """Returns an exception with its whole traceback, as Python prints it."""
    return [line.rstrip("\n") for line in traceback.format_exception(type(error), error, error.__traceback__)]
