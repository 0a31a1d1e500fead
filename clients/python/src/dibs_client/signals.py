"""SIGTERM and Ctrl-C, which stop a worker."""

from __future__ import annotations

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
    deadlines: list[float | None] = [None]

    def heard(*_: Any) -> None:
        stop(deadlines[0])
        deadlines[0] = 0.0

    before = {number: signal.signal(number, heard) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
