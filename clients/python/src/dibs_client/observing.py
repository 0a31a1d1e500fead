"""Tells events to the user's observer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Container
from queue import SimpleQueue
from typing import Any

from .threads import thread

Event = dict[str, Any]

#: Events beyond that are not told: the observer is too slow.
_MOST_EVENTS = 10_000


class Observing:
    """Each worker has one thread for it. So an observer may take its time, call `stop` or fail, and the work goes on."""

    def __init__(self, observer: Callable[[Event], None], only: Container[str] | None = None) -> None:
        """`only`: the types of events that it hears. Default: all."""
        self._observer = observer
        self._only = only
        self._events: SimpleQueue[Event | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def tell(self, event: Event) -> None:
        is_heard = self._only is None or event["type"] in self._only
        if is_heard and self._events.qsize() < _MOST_EVENTS:
            self._events.put(_copied(event))

    def start(self) -> None:
        self._thread = thread(self._tell_all)
        self._thread.start()

    def end(self, limit: float) -> None:
        """Returns when all is told, or when the time is over."""
        if self._thread:
            self._events.put(None)
            self._thread.join(limit)

    def _tell_all(self) -> None:
        while (event := self._events.get()) is not None:
            try:
                self._observer(event)
            except BaseException:  # Whatever it ends with, it is told the next event.
                pass


def _copied(event: Event) -> Event:
    """An observer may write into it, and into its jobs."""
    copy = dict(event)
    if "job" in event:
        copy["job"] = dict(event["job"])
    if "jobs" in event:
        copy["jobs"] = [dict(job) for job in event["jobs"]]
    return copy
