"""The batches of FakeDibs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import DibsError

_STATES = ("scheduled", "ready", "blocked", "leased", "completed", "cancelled", "dead")
_AT = "1970-01-01T00:00:00.000Z"


def problem(status: int, code: str, detail: str) -> dict[str, Any]:
    return {"type": f"urn:problem-type:dibs:{code}", "status": status, "code": code, "detail": detail}


class FakeBatches:
    """Batches of the jobs in a list. `enqueue` puts one there."""

    def __init__(self, jobs: list[Any], enqueue: Callable[[dict[str, Any]], Any]) -> None:
        self._jobs = jobs
        self._enqueue = enqueue
        self._batches: list[dict[str, Any]] = []

    def create(self, spec: dict[str, Any]) -> dict[str, Any]:
        batch = {"name": None, "closed": False, **spec, "id": f"batch-{len(self._batches) + 1}"}
        self._batches.append(batch)
        for job in batch.pop("jobs", []):
            self._enqueue({**job, "batch": batch["id"]})
        self.look()
        return self.get(batch["id"])

    def get(self, id: str) -> dict[str, Any]:
        batch = self._find(id)
        state = self._state(batch)
        states = self._states(batch)
        return {
            **{name: batch[name] for name in ("id", "name", "queue")},
            "state": state,
            "counts": {one: states.count(one) for one in _STATES},
            "followers": [kind for kind in ("on_end", "on_success") if kind in batch],
            "created_at": _AT,
            "closed_at": _AT if batch["closed"] else None,
            "finished_at": _AT if state in ("succeeded", "ended") else None,
        }

    def close(self, id: str) -> dict[str, Any]:
        batch = self._find(id)
        if batch["closed"]:
            raise DibsError(problem(409, "batch_closed", f"The batch {id} is closed."))
        batch["closed"] = True
        self.look()
        return self.get(id)

    def cancel(self, id: str) -> dict[str, Any]:
        batch = self._find(id)
        batch["closed"] = True
        batch.pop("on_success", None)
        batch.pop("on_end", None)
        for job in self._jobs:
            if job.batch == id and job.state == "ready":
                job.state = "cancelled"
        self.look()
        return self.get(id)

    def hold(self, specs: list[dict[str, Any]], own: str | None = None) -> None:
        """Before jobs come in. A job of the batch `own` adds them. Raises DibsError."""
        for id in {spec["batch"] for spec in specs if "batch" in spec} - {own}:
            if self._find(id)["closed"]:
                raise DibsError(problem(409, "batch_closed", f"The batch {id} is closed."))

    def look(self) -> None:
        """Lets followers come where all jobs are finished. One may be of another batch."""
        while any([self._follow(batch) for batch in self._batches]):
            pass

    def _find(self, id: str) -> dict[str, Any]:
        for batch in self._batches:
            if batch["id"] == id:
                return batch
        raise DibsError(problem(404, "batch_not_found", f"There is no batch {id}."))

    def _states(self, batch: dict[str, Any]) -> list[str]:
        return [job.state for job in self._jobs if job.batch == batch["id"]]

    def _state(self, batch: dict[str, Any]) -> str:
        if not batch["closed"]:
            return "open"
        states = self._states(batch)
        followers = [other[kind] for other in self._batches for kind in ("on_end", "on_success") if kind in other]
        if {"ready", "leased"} & set(states) or any(job.get("batch") == batch["id"] for job in followers):
            return "running"
        return "succeeded" if all(state == "completed" for state in states) else "ended"

    def _follow(self, batch: dict[str, Any]) -> bool:
        """Whether something followed it."""
        state = self._state(batch)
        due = {"succeeded": ("on_end", "on_success"), "ended": ("on_end",)}.get(state, ())
        followers = [batch.pop(kind) for kind in due if kind in batch]
        for job in followers:
            self._enqueue(job)
        return len(followers) > 0
