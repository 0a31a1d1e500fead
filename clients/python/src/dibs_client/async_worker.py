"""Workers whose handlers are coroutines."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from .client import Client
from .handling import after_signal, decoded
from .job import Ack, Job, JobSignal, Release
from .run import Run
from .worker import Worker


class AsyncWorker(Worker):
    """A Worker whose handler is a coroutine function. When a handler should end, its task is cancelled: `job.signal` says why."""

    def __init__(self, client: Client, queues: Sequence[str], handler: Callable[[Job], Awaitable[Any]], **options: Any) -> None:
        super().__init__(client, queues, handler, **options)
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(self) -> None:  # type: ignore[override]
        self._loop = asyncio.get_running_loop()
        await asyncio.to_thread(super().run)

    async def progress(self, job: Job, value: Any) -> None:
        """`job.progress` for coroutines."""
        await asyncio.to_thread(job.progress, value)

    def _begin(self, run: Run) -> None:
        assert self._loop

        def start() -> None:
            run.task = asyncio.ensure_future(self._work_async(run))

        self._loop.call_soon_threadsafe(start)

    def _tell(self, run: Run) -> None:
        if self._loop:
            self._loop.call_soon_threadsafe(lambda: run.task and run.task.cancel())

    async def _work_async(self, run: Run) -> None:
        assert run.job
        began = time.monotonic()
        self._observe({"type": "started", "job": run.lease})
        failure: BaseException | None = None
        try:
            run.job.payload = decoded(self._decode, run.job)
            answer = await self._handler(run.job)
            outcome: Any = answer if isinstance(answer, Ack) else Ack(answer)
        except asyncio.CancelledError as error:
            failure = error
            outcome = after_signal(run, JobSignal(run.signal)) if run.signal else Release()
        except Exception as error:
            failure = error
            outcome = after_signal(run, error)
        self._over(run, outcome, began, failure)
