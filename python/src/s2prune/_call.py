"""Calls into libs2vlm that take long: progress, cancelling, Ctrl-C, exceptions out of callbacks, one thread at a time."""
from __future__ import annotations

import logging
import os
import signal
import threading
from typing import Any, Callable, Iterator, List, Optional
from contextlib import contextmanager

from ._errors import BusyError, invalid

log = logging.getLogger("s2prune")
ProgressFunction = Callable[[str, float], Any]


class Watch:
    """What callbacks of a running call leave for the Python side. A callback never lets an exception out: it is stored, the C
    side is told to stop, and the call raises it."""

    def __init__(self, progress: Optional[ProgressFunction]) -> None:
        self.progress = progress
        self.raised: Optional[BaseException] = None
        self.stop = threading.Event()

    def on_progress(self, step: bytes, done: float, user: Any) -> int:
        """The C callback, on the thread that made the call."""
        if self.raised is None and self.progress is not None:
            try:
                self.progress(step.decode(), done)
            except BaseException as error:  # raised again by the call
                self.raised = error
        return int(self.raised is not None or self.stop.is_set())

    def take(self) -> Optional[BaseException]:
        """The stored exception, once."""
        raised, self.raised = self.raised, None
        return raised


@contextmanager
def interruptible(watches: List[Watch]) -> Iterator[None]:
    """Ctrl-C during a C call: Python's own handler runs when the next callback enters Python, where ctypes would swallow what
    it raises. So for the length of the call the handler stores the exception, and progress stops the call."""
    previous = signal.getsignal(signal.SIGINT) if threading.current_thread() is threading.main_thread() else None
    if not callable(previous):
        yield
        return
    handler = previous

    def store(number: int, frame: Any) -> None:
        try:
            handler(number, frame)
        except BaseException as error:  # KeyboardInterrupt, usually
            for watch in watches:
                watch.raised = watch.raised or error

    signal.signal(signal.SIGINT, store)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


class Turn:
    """One thread at a time: a second one gets a BusyError instead of a race."""

    def __init__(self, what: str) -> None:
        self._lock, self._what, self._owner = threading.Lock(), what, 0
        self._pid = os.getpid()

    def check_process(self) -> None:
        """Threads and locks of the engine do not live on in a forked process."""
        if os.getpid() != self._pid:
            raise invalid(f"this {self._what} was made before a fork, in process {self._pid}: open the engine in this process")

    @contextmanager
    def taken(self, cancel: Optional[threading.Event] = None) -> Iterator[None]:
        """Hold the turn. cancel: stop what another thread does and wait for it to end."""
        self.check_process()
        taken = self._lock.acquire(blocking=False)
        while not taken and cancel is not None and self._owner != threading.get_ident():
            cancel.set()  # again: a prompt that just begins clears it
            taken = self._lock.acquire(timeout=0.02)
        if not taken:
            raise BusyError(f"this {self._what} is in another call; sessions of the same engine may run in several threads, one thread each")
        self._owner = threading.get_ident()
        try:
            yield
        finally:
            self._owner = 0
            self._lock.release()


__all__ = ["ProgressFunction", "Turn", "Watch", "interruptible", "log"]
