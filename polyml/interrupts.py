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
    """A deferral keeps the handlers that the main thread had before a block of `deferred`, and the signals that came inside it.

    owner: the identifier of the main thread.
    depth: how many blocks of `deferred` the thread is in.
    """

    def __init__(self, owner: int):
        self.owner, self.depth = owner, 1
        self._came: list[tuple[int, FrameType | None]] = []
        self._handlers: dict[int, _Handler] = {}
        self._own = self._remember

    def begin(self) -> None:
        """Puts handlers that remember signals in place of the thread's own.

        Raises ValueError where this thread may have no handlers: in an interpreter beside the main one.
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
        """Puts the thread's own handlers back, except where a handler that was called has put another one there."""
        for number, handler in reversed(self._handlers.items()):
            if signal.getsignal(number) is self._own:  # else a handler that was called has put another one there
                signal.signal(number, handler)

    def deliver(self) -> None:
        """Calls the handlers of the signals that came, each one even if the one before raises."""
        if self._came:
            number, frame = self._came.pop(0)
            try:
                self._handlers[number](number, frame)
            finally:
                self.deliver()

    def deliver_soon(self) -> None:
        """Sends the signals that came to the thread once more after a moment, for places where Python takes no exception."""
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
    """Makes signals wait for the next `checkpoint`, or for the end of the outermost such block.

    In threads other than the main one, where Python handles no signals, nothing changes.
    """
    begin()
    try:
        yield
    finally:
        if (ended := end()) is not None:
            ended.deliver()


def checkpoint() -> None:
    """Handles the signals that came inside `deferred`. It is called where an exception leaves nothing half done."""
    if (mine := _mine()) is not None:
        mine.deliver()


@contextmanager
def answered() -> Iterator[None]:
    """Handles signals as they come again, inside a block of `deferred`, for what takes long."""
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
    """Begins what `deferred` does, for places where no `with` block can stand."""
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
    """Ends what `begin` began. Returns the deferral if this was the outermost one, so that the caller delivers its signals; else
    None.
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
    """Returns the deferral of this thread; None where it has none."""
    return _current if _current is not None and _current.owner == threading.get_ident() else None


def _forget() -> None:
    """Ends the deferral in the child of a fork by another thread: the thread that would end it does not exist there."""
    global _current
    if _current is not None and _mine() is None:
        ended, _current = _current, None
        ended.end()


os.register_at_fork(after_in_child=_forget)
