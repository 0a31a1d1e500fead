"""Enqueues jobs."""

from __future__ import annotations

import math
import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from .answers import batch_of, job_of, jobs_of
from .batch import AsyncBatchHandle, BatchHandle
from .client import Client
from .errors import backoff, passes
from .threads import Threads
from .times import seconds, wait

#: Jobs of one request, at most.
_MOST = 1000
#: An AsyncProducer sends so many requests at once.
_MOST_THREADS = 16
#: So many of its waits for batches look at once. More take turns.
_MOST_WAITS = 64


class Producer:
    """Enqueues jobs. A request that failed for a while is repeated, and counts once."""

    def __init__(
        self,
        client: Client,
        *,
        queue: str | None = None,
        retry_seconds: float = 30,
        headers: Callable[[], dict[str, str]] | None = None,
    ) -> None:
        self._client = client
        self._queue = queue
        self._retry_seconds = seconds("retry_seconds", retry_seconds)
        self._headers = headers

    def enqueue(self, job: dict[str, Any], *, idempotency_key: str | None = None) -> dict[str, Any]:
        return self._enqueue(job, idempotency_key, threading.Event())

    def enqueue_all(self, jobs: list[dict[str, Any]], *, idempotency_key: str | None = None) -> list[dict[str, Any]]:
        """All of them or, when one is refused, none: up to 1000 in one request. More go in several, each all or none."""
        return self._enqueue_all(jobs, idempotency_key, threading.Event())

    def batch(
        self,
        queue: str,
        *,
        name: str | None = None,
        jobs: list[dict[str, Any]] | None = None,
        on_success: dict[str, Any] | None = None,
        on_end: dict[str, Any] | None = None,
        closed: bool = False,
        idempotency_key: str | None = None,
    ) -> BatchHandle:
        """Creates a batch: jobs that belong together, and what follows their end. `on_success` is enqueued when all jobs are completed,
        `on_end` when all are finished. Whoever may read `queue` sees the batch; its up to 1000 first jobs may be of other queues. A
        repeat after a lost answer creates no second one."""
        given = {"name": name, "jobs": jobs, "on_success": on_success, "on_end": on_end}
        return BatchHandle(self, self._create_batch(queue, given, closed, idempotency_key, threading.Event()))

    def batch_by_id(self, id: str) -> BatchHandle:
        """A batch that is there. Nothing is sent."""
        return BatchHandle(self, id)

    def _create_batch(
        self, queue: str, given: dict[str, Any], closed: bool, idempotency_key: str | None, given_up: threading.Event
    ) -> str:
        key = idempotency_key or str(uuid.uuid4())
        body: Any = {"queue": queue, "closed": closed}
        for what, value in given.items():
            if what == "jobs" and value is not None:
                body[what] = [self._spec(job) for job in value]
            elif value is not None:
                body[what] = value if what == "name" else self._spec(value)

        return self._repeat(lambda: batch_of(self._client.create_batch(body, idempotency_key=key)), given_up)["id"]

    def _enqueue(self, job: dict[str, Any], idempotency_key: str | None, given_up: threading.Event) -> dict[str, Any]:
        key = idempotency_key or str(uuid.uuid4())
        spec: Any = self._spec(job)
        return self._repeat(lambda: job_of(self._client.enqueue_job(spec, idempotency_key=key)), given_up)

    def _enqueue_all(
        self, jobs: list[dict[str, Any]], idempotency_key: str | None, given_up: threading.Event
    ) -> list[dict[str, Any]]:
        key = idempotency_key or str(uuid.uuid4())
        specs = [self._spec(job) for job in jobs]
        enqueued: list[dict[str, Any]] = []
        for at in range(0, len(specs), _MOST):
            if given_up.is_set():
                break
            enqueued += self._enqueue_some(specs[at : at + _MOST], key if at == 0 else f"{key}-{at}", given_up)
        return enqueued

    def _enqueue_some(self, specs: list[dict[str, Any]], key: str, given_up: threading.Event) -> list[dict[str, Any]]:
        body: Any = {"jobs": specs}
        return self._repeat(lambda: jobs_of(self._client.enqueue_jobs(body, idempotency_key=key), len(specs)), given_up)

    def _spec(self, job: dict[str, Any]) -> dict[str, Any]:
        spec = {"queue": self._queue, **job} if self._queue else dict(job)
        if self._headers:
            spec["headers"] = {**self._headers(), **job.get("headers", {})}
        return spec

    def _repeat(
        self,
        send: Callable[[], Any],
        given_up: threading.Event,
        *,
        end: float = math.inf,
        held: float = 0,
    ) -> Any:
        """Waits failures out that pass, until `end`. `held`: for so many seconds the request asks Dibs to hold it."""
        end = min(end, time.monotonic() + held + self._retry_seconds)
        failures = 0
        while True:
            try:
                return send()
            except Exception as error:
                pause = backoff(failures, error)
                if not passes(error, "enqueue") or time.monotonic() + pause > end or wait(given_up, pause):
                    raise
            failures += 1


class AsyncProducer:
    """A Producer for asyncio. Its requests go in threads of its own. One that is cancelled is repeated no more; it may have counted."""

    def __init__(self, client: Client, **options: Any) -> None:
        self._producer = Producer(client, **options)
        self._threads = Threads(_MOST_THREADS)
        #: What waits for batches keeps nobody from enqueueing.
        self._waits = Threads(_MOST_WAITS)

    async def enqueue(self, job: dict[str, Any], *, idempotency_key: str | None = None) -> dict[str, Any]:
        return await self._call(self._producer._enqueue, job, idempotency_key)

    async def enqueue_all(self, jobs: list[dict[str, Any]], *, idempotency_key: str | None = None) -> list[dict[str, Any]]:
        return await self._call(self._producer._enqueue_all, jobs, idempotency_key)

    async def batch(
        self,
        queue: str,
        *,
        name: str | None = None,
        jobs: list[dict[str, Any]] | None = None,
        on_success: dict[str, Any] | None = None,
        on_end: dict[str, Any] | None = None,
        closed: bool = False,
        idempotency_key: str | None = None,
    ) -> AsyncBatchHandle:
        """As `Producer.batch`."""
        given = {"name": name, "jobs": jobs, "on_success": on_success, "on_end": on_end}
        return AsyncBatchHandle(self, await self._call(self._producer._create_batch, queue, given, closed, idempotency_key))

    def batch_by_id(self, id: str) -> AsyncBatchHandle:
        """A batch that is there. Nothing is sent."""
        return AsyncBatchHandle(self, id)

    async def _call(self, function: Callable[..., Any], *given: Any, threads: Threads | None = None) -> Any:
        given_up = threading.Event()
        try:
            return await (threads or self._threads).call(function, *given, given_up)
        finally:
            given_up.set()
