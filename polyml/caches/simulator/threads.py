"""The threads of a simulation, each with its own caches, and the queues of their requests to the caches that they share."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue

import numpy as np

from polyml.caches.simulator import shared_requests, state_header
from polyml.errors import PolymlMemoryError

_BUFFER_REQUESTS = 1 << 15  # requests of a thread that are written down before they are handed on
_MOST_WAITING = 4  # times that many, at most
_WORDS = shared_requests.BYTES // 8

Run = Callable[[int], None]
_Tell = ctypes.CFUNCTYPE(None)


def run_independently(run: Run, threads: int) -> None:
    """Calls run(thread) for each thread number, and returns when all calls have ended. They run at the same time, each in a system
    thread; those for which the system gives none run one after the other.

    The calls must not depend on each other.
    """
    others, left = [], [0]
    for thread in range(1, threads):
        other = threading.Thread(target=run, args=(thread,), daemon=True)
        try:
            other.start()
        except RuntimeError:
            left.append(thread)
        else:
            others.append(other)
    for thread in left:
        run(thread)
    for other in others:
        other.join()


class SimulatedThreads:
    """SimulatedThreads run the simulations of all threads' own caches at the same time, while one simulation of the shared caches
    serves their requests.

    states: for each thread, the state of its own caches; the buffer for its requests is entered in the state's header.
    counters: by thread, the counters for the shared caches.
    """

    def __init__(self, states: Sequence[np.ndarray], counters: np.ndarray):
        self._streams = [_RequestStream(state) for state in states]
        self._heads = np.zeros((len(states), 4), np.int64)
        self._heads[:, 2] = [own.ctypes.data for own in counters]
        self._chunks: list[np.ndarray | None] = [None] * len(states)

    def run(self, run: Run, serve: Callable[[int], int]) -> None:
        """Calls run(thread) in a system thread for each simulated thread, and meanwhile serve(heads) until all requests are served.

        serve: takes the address of an array that says where the requests of each thread are; returns the number of a thread whose
            requests are used up, or -1 at the end.

        Raises PolymlMemoryError where the system does not start that many threads.
        """
        threads = []
        try:
            for number in range(len(self._streams)):
                thread = threading.Thread(target=run, args=(number,), daemon=True)
                _start(thread, len(self._streams))
                threads.append(thread)
            while (wanted := serve(self._heads.ctypes.data)) >= 0:
                chunk = self._chunks[wanted] = self._streams[wanted].take()
                self._heads[wanted, :2] = chunk.ctypes.data, chunk.ctypes.data + chunk.nbytes
        finally:
            for stream in self._streams:
                stream.close()
            for thread in threads:
                thread.join()


def _start(thread: threading.Thread, count: int) -> None:
    """Starts a thread. count: how many are needed, for the message. Raises PolymlMemoryError where the system gives none."""
    try:
        thread.start()
    except RuntimeError:
        message = f"the system gives no {count} threads more, one for each that is simulated"
        raise PolymlMemoryError(message, notes=["expected a higher limit (ulimit -u), or fewer threads"]) from None


class _RequestStream:
    """A _RequestStream holds one thread's requests to the shared caches, in buffers that are filled by the thread and wait in a
    queue to be served.

    state: the state of the thread's own caches; the addresses of the current buffer are entered in its header.
    """

    def __init__(self, state: np.ndarray):
        self._state = state
        self._buffers = np.zeros(
            (_MOST_WAITING + 2, _BUFFER_REQUESTS, _WORDS), np.int64
        )  # one is written, one is read, others wait
        self._turn = 0
        self._tell = _Tell(self._hand_on)
        state[state_header.TELL] = ctypes.cast(self._tell, ctypes.c_void_p).value
        state[state_header.NEXT] = self._begin()
        self._full: SimpleQueue[np.ndarray] = SimpleQueue()
        self._room = threading.Semaphore(_MOST_WAITING)
        self._is_closed = False

    def _begin(self) -> int:
        """Writes into the simulator's state where the current buffer begins and ends; returns the address at which it begins."""
        own = self._buffers[self._turn]
        self._state[state_header.BEGIN], self._state[state_header.END] = own.ctypes.data, own.ctypes.data + own.nbytes
        return own.ctypes.data

    def _hand_on(self) -> None:
        """Puts the current buffer into the queue and begins another one; waits while too many are in the queue.

        Compiled code calls this in the simulated thread when a buffer is full or the thread has ended.
        """
        if not self._is_closed:
            self._room.acquire()
        if not self._is_closed:
            own = self._buffers[self._turn]
            self._full.put(own[: (int(self._state[state_header.NEXT]) - own.ctypes.data) // shared_requests.BYTES])
            self._turn = (self._turn + 1) % len(self._buffers)
            self._begin()

    def take(self) -> np.ndarray:
        """Waits until the thread has handed on its next buffer, and returns the requests in it, which are valid until the next
        call.
        """
        found = self._full.get()
        self._room.release()
        return found

    def close(self) -> None:
        """Says that no more buffers will be taken, so that the thread no longer waits for room in the queue."""
        self._is_closed = True
        self._room.release()
