"""Enqueues jobs."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable
from typing import Any

from .answers import job_of, jobs_of
from .client import Client
from .errors import backoff, passes
from .threads import Threads
from .times import seconds, wait

#: An AsyncProducer sends so many requests at once.
_MOST_THREADS = 16


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
        """Up to 1000 jobs: all of them or, when one is refused, none."""
        return self._enqueue_all(jobs, idempotency_key, threading.Event())

    def _enqueue(self, job: dict[str, Any], idempotency_key: str | None, given_up: threading.Event) -> dict[str, Any]:
        key = idempotency_key or str(uuid.uuid4())
        spec: Any = self._spec(job)
        return self._repeat(lambda: job_of(self._client.enqueue_job(spec, idempotency_key=key)), given_up)

    def _enqueue_all(
        self, jobs: list[dict[str, Any]], idempotency_key: str | None, given_up: threading.Event
    ) -> list[dict[str, Any]]:
        key = idempotency_key or str(uuid.uuid4())
        body: Any = {"jobs": [self._spec(job) for job in jobs]}
        return self._repeat(lambda: jobs_of(self._client.enqueue_jobs(body, idempotency_key=key), len(jobs)), given_up)

    def _spec(self, job: dict[str, Any]) -> dict[str, Any]:
        spec = {"queue": self._queue, **job} if self._queue else dict(job)
        if self._headers:
            spec["headers"] = {**self._headers(), **job.get("headers", {})}
        return spec

    def _repeat(self, send: Callable[[], Any], given_up: threading.Event) -> Any:
        end = time.monotonic() + self._retry_seconds
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

    async def enqueue(self, job: dict[str, Any], *, idempotency_key: str | None = None) -> dict[str, Any]:
        return await self._call(self._producer._enqueue, job, idempotency_key)

    async def enqueue_all(self, jobs: list[dict[str, Any]], *, idempotency_key: str | None = None) -> list[dict[str, Any]]:
        return await self._call(self._producer._enqueue_all, jobs, idempotency_key)

    async def _call(self, enqueue: Callable[..., Any], *given: Any) -> Any:
        given_up = threading.Event()
        try:
            return await self._threads.call(enqueue, *given, given_up)
        finally:
            given_up.set()
