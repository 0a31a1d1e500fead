"""Enqueues jobs."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from typing import Any

from .client import Client, backoff, is_temporary


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
        self._retry_seconds = retry_seconds
        self._headers = headers

    def enqueue(self, job: dict[str, Any], *, idempotency_key: str | None = None) -> dict[str, Any]:
        key = idempotency_key or str(uuid.uuid4())
        spec = self._spec(job)
        return self._repeat(lambda: self._client.enqueue_job(spec, idempotency_key=key))  # type: ignore[arg-type,return-value]

    def enqueue_all(self, jobs: list[dict[str, Any]], *, idempotency_key: str | None = None) -> list[dict[str, Any]]:
        """Up to 1000 jobs: all of them or, when one is refused, none."""
        key = idempotency_key or str(uuid.uuid4())
        body: Any = {"jobs": [self._spec(job) for job in jobs]}
        return self._repeat(lambda: self._client.enqueue_jobs(body, idempotency_key=key))["jobs"]

    def _spec(self, job: dict[str, Any]) -> dict[str, Any]:
        spec = {"queue": self._queue, **job} if self._queue else dict(job)
        if self._headers:
            spec["headers"] = {**self._headers(), **job.get("headers", {})}
        return spec

    def _repeat(self, send: Callable[[], Any]) -> Any:
        end = time.monotonic() + self._retry_seconds
        failures = 0
        while True:
            try:
                return send()
            except Exception as error:
                pause = backoff(failures, error)
                if not is_temporary(error) or time.monotonic() + pause > end:
                    raise
            failures += 1
            time.sleep(pause)


class AsyncProducer:
    """A Producer for asyncio. Its requests go in threads."""

    def __init__(self, client: Client, **options: Any) -> None:
        self._producer = Producer(client, **options)

    async def enqueue(self, job: dict[str, Any], *, idempotency_key: str | None = None) -> dict[str, Any]:
        return await asyncio.to_thread(self._producer.enqueue, job, idempotency_key=idempotency_key)

    async def enqueue_all(self, jobs: list[dict[str, Any]], *, idempotency_key: str | None = None) -> list[dict[str, Any]]:
        return await asyncio.to_thread(self._producer.enqueue_all, jobs, idempotency_key=idempotency_key)
