"""Ctrl-C, handled at moments of polyml's choice.

Python raises KeyboardInterrupt between any two of its instructions: in the midst of the import of an extension module, which
cannot be imported a second time, in a callback that isl calls, or after a lock is acquired. Inside `deferred` a signal is
remembered, and its handler, Python's or the user's, is called at the next `checkpoint` or at the end.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = tuple(  # their handlers are known to raise: Ctrl-C, time limits, requests to end
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGALRM", "SIGHUP") if hasattr(signal, name)
)
_SOON_SECONDS = 0.01

_Handler = Callable[[int, FrameType | None], object]


class _Deferral:
    """A deferral remembers the signals that come during a block of `deferred`, and the handlers that the main thread had before it.

    owner: the identifier of the main thread.
    depth: how many nested blocks of `deferred` the thread is in.
    """

    def __init__(self, owner: int):
        self.owner, self.depth = owner, 1
        self._came: list[tuple[int, FrameType | None]] = []
        self._handlers: dict[int, _Handler] = {}
        self._own = self._remember

    def begin(self) -> None:
        """Replaces the thread's signal handlers by one that only remembers the signals.

        Raises ValueError in a subinterpreter, whose threads may set no handlers.
        """
        try:
            for number in _SIGNALS:
                handler = signal.getsignal(number)
                if callable(handler):
                    self._handlers[number] = handler
                    signal.signal(number, self._own)
        except BaseException:  # another one of these signals may have raised it
            self.end()
            raise

    def end(self) -> None:
        """Puts the thread's own signal handlers back, except where code that ran in between has set another handler."""
        for number, handler in reversed(self._handlers.items()):
            if signal.getsignal(number) is self._own:  # else a handler that was called has put another one there
                signal.signal(number, handler)

    def deliver(self) -> None:
        """Calls the handlers of the remembered signals, each one even if another one raises."""
        if self._came:
            number, frame = self._came.pop(0)
            try:
                self._handlers[number](number, frame)
            finally:
                self.deliver()

    def deliver_soon(self) -> None:
        """Sends the remembered signals to the thread again after 10 ms, for places where Python ignores exceptions."""
        for number, _ in self._came:
            send = threading.Timer(_SOON_SECONDS, signal.pthread_kill, (self.owner, number))
            send.daemon = True
            send.start()

    def _remember(self, number: int, frame: FrameType | None) -> None:
        if number not in (other for other, _ in self._came):
            self._came.append((number, frame))


_current: _Deferral | None = None  # the main thread's, in which alone handlers run


@contextmanager
def deferred() -> Iterator[None]:
    """Delays the handling of signals such as Ctrl-C inside a `with` block, until the next `checkpoint` or the end of the outermost
    block.

    In threads other than the main one, where Python handles no signals, it does nothing.
    """
    begin()
    try:
        yield
    finally:
        if (ended := end()) is not None:
            ended.deliver()


def checkpoint() -> None:
    """Calls the handlers of the signals that `deferred` has delayed so far.

    Call it only where an exception, which a handler may raise, leaves nothing half done.
    """
    if (mine := _mine()) is not None:
        mine.deliver()


@contextmanager
def answered() -> Iterator[None]:
    """Handles signals at once again inside a `with` block that is within one of `deferred`, for work that takes long."""
    global _current
    outer = _mine()
    if outer is None:
        yield
        return
    _current = None
    outer.end()
    try:
        outer.deliver()
        yield
    finally:
        begin()
        if (mine := _mine()) is not None:
            mine.depth = outer.depth


def begin() -> None:
    """Begins to delay signals as `deferred` does, for places where no `with` block can stand; `end` is its counterpart."""
    global _current
    if (mine := _mine()) is not None:
        mine.depth += 1
    elif _current is None and threading.current_thread() is threading.main_thread():
        new = _Deferral(threading.get_ident())
        try:
            new.begin()
        except ValueError:
            return
        _current = new


def end() -> _Deferral | None:
    """Ends what `begin` began, and puts the signal handlers back if that was the outermost block.

    Returns the deferral in that case, whose remembered signals the caller has to deliver; None otherwise.
    """
    global _current
    ended = _mine()
    if ended is None:
        return None
    ended.depth -= 1
    if ended.depth:
        return None
    _current = None
    ended.end()
    return ended


def _mine() -> _Deferral | None:
    """Returns the deferral that this thread has begun; None where there is none."""
    return _current if _current is not None and _current.owner == threading.get_ident() else None


def _forget() -> None:
    """Ends, in the child of a fork, a deferral of a thread other than the forking one: that thread does not exist in the child."""
    global _current
    if _current is not None and _mine() is None:
        ended, _current = _current, None
        ended.end()


os.register_at_fork(after_in_child=_forget)
