"""Threads of the library's own."""

from __future__ import annotations

import asyncio
import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable
from typing import Any


def thread(function: Callable[..., object], *given: Any) -> threading.Thread:
    """A daemon that calls the function in a copy of the context of whoever makes it. It is not started."""
    return threading.Thread(target=contextvars.copy_context().run, args=[function, *given], daemon=True)


class Threads:
    """At most so many daemon threads. None is kept when there is nothing to do, and a fork begins with none.

    `asyncio.to_thread` has a few threads for the whole process: what waits in them for Dibs would keep others from `getaddrinfo`.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._count = 0
        self._calls: deque[Callable[[], None]] = deque()

    def __getstate__(self) -> int:
        return self._most

    def __setstate__(self, most: int) -> None:
        self.__init__(most)  # type: ignore[misc]

    async def call(self, function: Callable[..., Any], *given: Any) -> Any:
        """What the function returns or raises. Its context is the caller's."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        context = contextvars.copy_context()

        def tell(answer: Any, failure: BaseException | None) -> None:
            if future.done():
                return
            if failure is None:
                future.set_result(answer)
            else:
                future.set_exception(failure)

        def act() -> None:
            if future.cancelled():
                return
            answer = None
            failure: BaseException | None = None
            try:
                answer = context.run(function, *given)
            except StopIteration as error:  # A future takes none.
                failure = RuntimeError("StopIteration")
                failure.__cause__ = error
            except BaseException as error:
                failure = error
            try:
                loop.call_soon_threadsafe(tell, answer, failure)
            except RuntimeError:
                pass  # The loop is closed: nobody waits.

        self._run(act)
        return await future

    def _run(self, call: Callable[[], None]) -> None:
        if self._process != os.getpid():
            self._begin()
        with self._lock:
            self._calls.append(call)
            if self._count >= self._most:
                return
            self._count += 1
            try:
                threading.Thread(target=self._work, daemon=True).start()
            except RuntimeError:
                self._count -= 1
                if self._count == 0:
                    self._calls.clear()
                    raise

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._calls:
                    self._count -= 1
                    return
                call = self._calls.popleft()
            call()
