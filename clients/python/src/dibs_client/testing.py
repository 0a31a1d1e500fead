"""For unit tests of handlers, producers and workers: jobs that are made up, and a Dibs in memory."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .client import Client
from .errors import DibsError
from .fake_batches import FakeBatches, problem
from .job import Job
from .lines import Lines
from .times import seconds as checked

_MOST_ATTEMPTS = 5


def fake_job(payload: Any = None, *, report: Callable[[Any], None] | None = None, **lease: Any) -> Job:
    """A job as a worker would give it. `lease` sets its `headers`, `attempt` and so on; `report` is told its progress.

    assert send(fake_job({"to": "ada@example.com"})) == "sent"
    """
    made_up = FakeJob("job-1", "default", payload, deliveries=1, attempt=1, state="leased")
    return Job({**made_up.as_lease(), **lease}, payload, report)


@dataclass
class FakeJob:
    """A job of FakeDibs."""

    id: str
    queue: str
    payload: Any
    headers: dict[str, str] = field(default_factory=dict)
    batch: str | None = None
    state: str = "ready"
    attempt: int = 0
    deliveries: int = 0
    result: Any = None
    error: str | None = None
    progress: Any = None
    token: str = "token"
    claim_id: str = ""

    def as_lease(self) -> dict[str, Any]:
        return {
            **{name: None for name in ("group", "fairness_key", "unique_key", "worker", "finished_at")},
            **{name: "1970-01-01T00:00:00.000Z" for name in ("run_at", "created_at", "lease_expires_at")},
            "id": self.id,
            "queue": self.queue,
            "batch": self.batch,
            "state": self.state,
            "headers": self.headers,
            "priority": 0,
            "attempt": self.attempt,
            "max_attempts": _MOST_ATTEMPTS,
            "deliveries": self.deliveries,
            "last_error": self.error,
            "progress": self.progress,
            "result": self.result,
            "payload_text": json.dumps(self.payload),
            "lease_token": self.token,
            "lease_seconds": 30,
        }


class FakeDibs:
    """A Dibs in memory, without delays, limits, sessions and leases that end. A failed job comes back at once, until it had five attempts.
    `client` is a client of it, and `jobs` has all jobs, the finished ones too."""

    def __init__(self) -> None:
        self.jobs: list[FakeJob] = []
        self.client: Client = _FakeClient(self)
        self._changed = threading.Condition()
        self._batches = FakeBatches(self.jobs, self._enqueue)
        #: The newest request of each claim, by its `claim_id`.
        self._claims: dict[str, object] = {}

    def enqueued(self, queue: str | None = None) -> list[FakeJob]:
        """The jobs of a queue, or all."""
        return [job for job in self.jobs if queue in (None, job.queue)]

    def wait_until_done(self, seconds: float = 10) -> None:
        """Returns when every job is completed or dead. Raises TimeoutError when that takes longer."""

        def is_done() -> bool:
            return all(job.state in ("completed", "dead", "cancelled") for job in self.jobs)

        with self._changed:
            if not self._changed.wait_for(is_done, min(checked("seconds", seconds), threading.TIMEOUT_MAX)):
                raise TimeoutError(f"these jobs are not done: {[job for job in self.jobs if job.state in ('ready', 'leased')]}")

    def _answer(self, method: str, path: str, body: dict[str, Any], wait: float) -> dict[str, Any]:
        with self._changed:
            answer = self._batch(method, path, body, wait) if path.startswith("/batches") else self._carried_out(path, body)
            self._batches.look()
            self._changed.notify_all()
        return answer

    def _carried_out(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if path == "/jobs":
            return self._enqueue_all([body])[0]
        if path == "/jobs/batch":
            return {"jobs": self._enqueue_all(body["jobs"])}
        if path == "/jobs/claim":
            return {"jobs": self._claim(body)}
        if path == "/jobs/settle":
            settled = self._settle(body)
            self._batches.look()
            return {**settled, "jobs": self._claim(body["claim"])} if "claim" in body else settled
        if extend := re.fullmatch("/jobs/(.+)/extend", path):
            answer = self._extend({**body, "id": extend[1]})
            if refused := answer.get("problem"):
                raise DibsError(refused)
            return answer
        raise _no_route(path)

    def _batch(self, method: str, path: str, body: dict[str, Any], wait: float) -> dict[str, Any]:
        if (method, path) == ("POST", "/batches"):
            return self._batches.create(body)
        found = re.fullmatch("/batches/([^/]+)(/close)?", path)
        if found and (method, found[2]) == ("POST", "/close"):
            return self._batches.close(found[1])
        if found and (method, found[2]) == ("DELETE", None):
            return self._batches.cancel(found[1])
        if not found or (method, found[2]) != ("GET", None):
            raise _no_route(path)
        end = time.monotonic() + wait
        while (batch := self._batches.get(found[1]))["finished_at"] is None and (left := end - time.monotonic()) > 0:
            self._changed.wait(left)
        return batch

    def _enqueue_all(self, specs: list[dict[str, Any]], own: str | None = None) -> list[dict[str, Any]]:
        """`own`: the batch of the job that adds them."""
        self._batches.hold(specs, own)
        return [self._enqueue(spec) for spec in specs]

    def _enqueue(self, spec: dict[str, Any]) -> dict[str, Any]:
        id = f"job-{len(self.jobs) + 1}"
        job = FakeJob(
            id, spec.get("queue", "default"), spec.get("payload"), dict(spec.get("headers", {})), batch=spec.get("batch")
        )
        self.jobs.append(job)
        return job.as_lease()

    def _claim(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        """A repeat gets what the first request got. If that still waits, it is answered without jobs."""
        end = time.monotonic() + body.get("wait_seconds", 0)
        this = object()
        claim_id = body.get("claim_id", "")
        if claim_id:
            self._claims[claim_id] = this
            self._changed.notify_all()
            if got := [job for job in self.jobs if job.state == "leased" and job.claim_id == claim_id]:
                return [job.as_lease() for job in got]
        while not claim_id or self._claims[claim_id] is this:
            ready = self._ready(body.get("queues", ["default"]))[: body.get("limit", 1)]
            if ready or time.monotonic() >= end:
                return [self._lease(job, claim_id) for job in ready]
            self._changed.wait(end - time.monotonic())
        return []

    def _ready(self, queues: list[str]) -> list[FakeJob]:
        ready = [job for job in self.jobs if job.state == "ready" and job.queue in queues]
        return sorted(ready, key=lambda job: queues.index(job.queue))

    def _lease(self, job: FakeJob, claim_id: str) -> dict[str, Any]:
        job.state = "leased"
        job.attempt += 1
        job.deliveries += 1
        job.token = f"{job.id}-{job.deliveries}"
        job.claim_id = claim_id
        return job.as_lease()

    def _settle(self, body: dict[str, Any]) -> dict[str, Any]:
        return {
            "acks": [self._change(item, self._ack) for item in body.get("acks", [])],
            "nacks": [self._change(item, self._nack) for item in body.get("nacks", [])],
            "releases": [self._change(item, self._release) for item in body.get("releases", [])],
            "extends": [self._extend(item) for item in body.get("extends", [])],
        }

    def _ack(self, job: FakeJob, item: dict[str, Any]) -> None:
        self._enqueue_all(item.get("enqueue", []), job.batch)
        job.state = "completed"
        job.result = item.get("result")

    def _nack(self, job: FakeJob, item: dict[str, Any]) -> None:
        is_dead = item.get("retry") is False or job.attempt >= _MOST_ATTEMPTS
        if is_dead:
            self._enqueue_all(item.get("enqueue", []), job.batch)
        job.error = item.get("error")
        job.state = "dead" if is_dead else "ready"

    def _release(self, job: FakeJob, item: dict[str, Any]) -> None:
        job.state = "ready"
        job.attempt -= 1

    def _extend(self, item: dict[str, Any]) -> dict[str, Any]:
        def report(job: FakeJob, item: dict[str, Any]) -> None:
            job.progress = item.get("progress", job.progress)

        return self._change(item, report)

    def _change(self, item: dict[str, Any], change: Callable[[FakeJob, dict[str, Any]], None]) -> dict[str, Any]:
        refused = problem(409, "lease_lost", "The lease is lost.")
        for job in self.jobs:
            if job.id == item["id"] and job.state == "leased" and job.token == item["lease_token"]:
                try:
                    change(job, item)
                    return {"id": job.id, "status": 200, "state": job.state, "cancel_requested": False}
                except DibsError as error:
                    refused = error.problem
        return {"id": item["id"], "status": refused["status"], "problem": refused}


def _no_route(path: str) -> DibsError:
    return DibsError(problem(404, "route_not_found", f"FakeDibs has no {path}."))


class _FakeClient(Client):
    def __init__(self, dibs: FakeDibs) -> None:
        super().__init__()
        self._dibs = dibs

    def request(self, method: str, path: str, body: Any = None, **options: Any) -> Any:
        """As over the wire: what goes in and out is a copy."""
        given = json.loads(body if isinstance(body, str) else json.dumps(body or {}))
        wait = (options.get("query") or {}).get("wait_seconds") or 0
        return json.loads(json.dumps(self._dibs._answer(method, path, given, wait)))

    def hold(self, path: str, body: Any, lines: Lines) -> dict[str, Any]:
        """A worker goes on at once without a session, as with a Dibs that has none."""
        raise _no_route(path)
