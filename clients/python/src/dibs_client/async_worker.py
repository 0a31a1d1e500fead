"""Workers whose handlers are coroutines."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from .client import Client
from .handling import after_signal, decoded
from .job import Ack, Job, Release, is_a
from .run import Run
from .signals import heard_by
from .state import Settlement
from .threads import Threads
from .worker import Worker


class AsyncWorker(Worker):
    """A Worker whose handler is a coroutine function. When a handler should end, its task is cancelled: `job.signal` says why."""

    _takes_coroutines = True

    def __init__(self, client: Client, queues: Sequence[str], handler: Callable[[Job], Awaitable[Any]], **options: Any) -> None:
        super().__init__(client, queues, handler, **options)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[Any] | None = None
        self._threads = Threads(self._concurrency)

    async def run(self) -> None:  # type: ignore[override]
        """As `Worker.run`. To cancel it stops it as `stop` does: it ends with CancelledError when its handlers have ended. A second
        time makes the deadline now, and a third ends it at once."""
        loop = asyncio.get_running_loop()
        over = loop.create_future()
        interruptions: list[BaseException] = []

        def end() -> None:
            if not over.done():
                over.set_result(None)

        pump = self._ready(lambda: self._in_loop(end))
        self._loop = loop
        self._task = asyncio.current_task()
        pump.start()
        while not over.done():
            try:
                await asyncio.shield(over)
            except asyncio.CancelledError as error:
                interruptions.append(error)
                if not self._hasten(len(interruptions)):
                    break
            except BaseException:  # The loop has ended, and the task with it.
                self.stop(0)
                raise
        if interruptions:
            raise interruptions[-1]
        if self._error:
            raise self._error

    async def run_until_signal(self) -> None:  # type: ignore[override]
        """As `Worker.run_until_signal`."""
        with heard_by(self.stop):
            await self.run()

    async def progress(self, job: Job, value: Any) -> None:
        """`job.progress` for coroutines."""
        await self._threads.call(job.progress, value)

    def _in_loop(self, act: Callable[[], Any]) -> bool:
        """Tells whether the loop still takes it."""
        assert self._loop
        try:
            self._loop.call_soon_threadsafe(act)
            return True
        except RuntimeError:
            return False

    def _begin(self, run: Run) -> None:
        def start() -> None:
            run.task = asyncio.ensure_future(self._work_async(run))
            run.task.add_done_callback(lambda task: self._never_began(run))

        if not self._in_loop(start):
            self.stop(0)
            self._handled(run, Settlement(run, Release()))

    def _tell(self, run: Run) -> None:
        self._in_loop(lambda: run.task and run.task.cancel())

    async def _work_async(self, run: Run) -> None:
        assert run.job
        began = time.monotonic()
        self._observe({"type": "started", "job": run.lease})
        failure: BaseException | None = None
        try:
            run.job.payload = decoded(self._decode, run.job)
            answer = await self._handler(run.job)
            outcome: Any = answer if isinstance(answer, Ack) else Ack(answer)
        except BaseException as error:  # sys.exit() too: whatever a handler ends with is a result.
            failure = error
            outcome = self._after(run, error)
        self._over(run, outcome, began, failure)

    def _after(self, run: Run, error: BaseException) -> Any:
        """A cancellation that nobody asked for is a failure, such as that of a task that the handler waits for."""
        if is_a(error, asyncio.CancelledError, GeneratorExit) and self._is_everything_cancelled(run):
            return Release()
        return after_signal(run, error)

    def _is_everything_cancelled(self, run: Run) -> bool:
        """Whether the loop ends: `asyncio.run` cancels all tasks, that of `run` too. Or it has ended already."""
        assert self._loop
        if not self._loop.is_running():
            return True
        return bool(self._task and self._task.cancelling() and run.task and run.task.cancelling())

    def _never_began(self, run: Run) -> None:
        """A task that is cancelled before its first step does not even begin."""
        if not run.ended.is_set():
            error = asyncio.CancelledError()
            self._over(run, self._after(run, error), time.monotonic(), error)
