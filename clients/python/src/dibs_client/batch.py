"""Batches: jobs that belong together, and what follows their end."""

from __future__ import annotations

import math
import threading
import time
from typing import TYPE_CHECKING, Any

from . import times
from .answers import batch_of
from .causes import line
from .errors import DibsError, backoff, passes

if TYPE_CHECKING:
    from .producer import AsyncProducer, Producer

#: One request of a wait asks Dibs to wait so long.
_WAIT = 20.0


class BatchHandle:
    """A batch, by its id. All else is in Dibs, so any process may take it up: `producer.batch_by_id(id)`. Its methods raise DibsError,
    such as `batch_not_found`, and ConnectionFailed."""

    def __init__(self, producer: Producer, id: str) -> None:
        self.id = id
        self._producer = producer
        self._client = producer._client

    def add(self, job: dict[str, Any], *, idempotency_key: str | None = None) -> dict[str, Any]:
        """Enqueues a job in the batch, as `enqueue` does. Raises DibsError `batch_closed`."""
        return self._producer.enqueue(self._in_it(job), idempotency_key=idempotency_key)

    def add_all(self, jobs: list[dict[str, Any]], *, idempotency_key: str | None = None) -> list[dict[str, Any]]:
        """Enqueues jobs in the batch, as `enqueue_all` does. Raises DibsError `batch_closed`."""
        return self._producer.enqueue_all([self._in_it(job) for job in jobs], idempotency_key=idempotency_key)

    def close(self) -> None:
        """No more jobs come in, but those that its own jobs add. So it can end. Raises DibsError `batch_closed` when it was closed
        before."""
        self._close(threading.Event())

    def get(self) -> dict[str, Any]:
        """As it is now. The key needs the scope `read`."""
        return self._get(threading.Event())

    def wait(self, timeout: float = math.inf) -> dict[str, Any]:
        """The batch when it has `succeeded`, or `ended` with dead or cancelled jobs. It must be closed for that. Raises TimeoutError
        when it has not ended after so many seconds. The key needs the scope `read`."""
        wait = _Wait(self, timeout)
        given_up = threading.Event()
        while (batch := wait.look(given_up)) is None:
            pass
        return batch

    def cancel(self) -> dict[str, Any]:
        """Closes it, and cancels its jobs that wait. Those that are leased go on. Nothing follows it any more. The key needs the
        scope `admin`."""
        return self._cancel(threading.Event())

    def _in_it(self, job: dict[str, Any]) -> dict[str, Any]:
        return {**job, "batch": self.id}

    def _close(self, given_up: threading.Event) -> None:
        tries = 0

        def send() -> None:
            nonlocal tries
            tries += 1
            try:
                batch_of(self._client.close_batch(self.id))
            except DibsError as error:
                # If this is a repeat, an earlier try has closed it, and its answer was lost.
                if error.code != "batch_closed" or tries == 1:
                    raise

        self._producer._repeat(send, given_up)

    def _get(self, given_up: threading.Event) -> dict[str, Any]:
        return self._producer._repeat(lambda: batch_of(self._client.get_batch(self.id)), given_up)

    def _cancel(self, given_up: threading.Event) -> dict[str, Any]:
        return self._producer._repeat(lambda: batch_of(self._client.cancel_batch(self.id)), given_up)


class _Wait:
    """A wait for a batch, look by look."""

    def __init__(self, batch: BatchHandle, timeout: float) -> None:
        self._batch = batch
        self._timeout = timeout
        self._end = time.monotonic() + times.seconds("timeout", timeout)
        self._early = 0

    def look(self, given_up: threading.Event) -> dict[str, Any] | None:
        """The batch if it has ended. Raises TimeoutError."""
        id, producer = self._batch.id, self._batch._producer
        began = held = 0.0

        def send() -> dict[str, Any]:
            nonlocal began, held
            began = time.monotonic()
            held = min(_WAIT, max(0.0, self._end - began))
            return batch_of(self._batch._client.get_batch(id, wait_seconds=held))

        # If not, the producer gives up before that, and tells its error.
        is_last = self._end <= time.monotonic() + _WAIT + producer._retry_seconds
        try:
            batch = producer._repeat(send, given_up, end=self._end, held=_WAIT)
        except Exception as error:
            if not is_last or not passes(error, "enqueue"):
                raise
            times.wait(given_up, self._end - time.monotonic())
            raise self._too_late(line(error)) from error
        if batch["state"] in ("succeeded", "ended"):
            return batch
        now = time.monotonic()
        if now >= self._end:
            raise self._too_late(f"it is {batch['state']}")
        # A Dibs that stops answers at once.
        self._early = self._early + 1 if now - began < held / 2 else 0
        if self._early:
            times.wait(given_up, min(backoff(self._early, None), self._end - now))
        return None

    def _too_late(self, why: str) -> TimeoutError:
        return TimeoutError(f"the batch {self._batch.id} has not ended within {self._timeout} s: {why}")


class AsyncBatchHandle:
    """A BatchHandle for asyncio. A call that is cancelled is repeated no more; it may have counted."""

    def __init__(self, producer: AsyncProducer, id: str) -> None:
        self.id = id
        self._producer = producer
        self._batch = BatchHandle(producer._producer, id)

    async def add(self, job: dict[str, Any], *, idempotency_key: str | None = None) -> dict[str, Any]:
        return await self._producer.enqueue(self._batch._in_it(job), idempotency_key=idempotency_key)

    async def add_all(self, jobs: list[dict[str, Any]], *, idempotency_key: str | None = None) -> list[dict[str, Any]]:
        return await self._producer.enqueue_all([self._batch._in_it(job) for job in jobs], idempotency_key=idempotency_key)

    async def close(self) -> None:
        await self._producer._call(self._batch._close)

    async def get(self) -> dict[str, Any]:
        return await self._producer._call(self._batch._get)

    async def wait(self, timeout: float = math.inf) -> dict[str, Any]:
        wait = _Wait(self._batch, timeout)
        while (batch := await self._producer._call(wait.look, threads=self._producer._waits)) is None:
            pass
        return batch

    async def cancel(self) -> dict[str, Any]:
        return await self._producer._call(self._batch._cancel)
