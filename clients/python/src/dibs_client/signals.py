"""SIGTERM and Ctrl-C, which stop a worker."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def heard_by(stop: Callable[[float | None], None]) -> Iterator[None]:
    """The first signal is a stop, the second one a stop now. At the end, the handlers from before are there again."""
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("run_until_signal must be called in the main thread, where Python has its signals: use run")
    process = os.getpid()
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in _SIGNALS}
    deadlines: list[float | None] = [None]

    def heard(number: int, _: Any) -> None:
        if os.getpid() != process:  # A handler has forked, and this is the child.
            signal.signal(number, before[number])
            os.kill(os.getpid(), number)
            return
        stop(deadlines[0])
        deadlines[0] = 0.0

    for number in _SIGNALS:
        signal.signal(number, heard)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
