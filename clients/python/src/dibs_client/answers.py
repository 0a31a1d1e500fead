"""Whether an answer of 2xx has the shape of one of Dibs. If not, something else gave it, and the answer is lost."""

from __future__ import annotations

import math
from typing import Any

from .errors import ConnectionFailed


def leases_of(answer: Any) -> list[dict[str, Any]]:
    leases = _items(answer, "jobs")
    for lease in leases:
        for name in ("id", "queue", "lease_token", "payload_text"):
            if not isinstance(lease.get(name), str):
                raise ConnectionFailed(f"the answer has a lease without {name}")
        length = lease.get("lease_seconds")
        if not isinstance(length, (int, float)) or not 0 < length < math.inf:
            raise ConnectionFailed("the answer has a lease without lease_seconds")
    return leases


def results_of(answer: Any, name: str, count: int) -> list[dict[str, Any]]:
    """The results of so many items."""
    results = _items(answer, name)
    for result in results:
        if not isinstance(result.get("status"), int) or not isinstance(result.get("problem", {}), dict):
            raise ConnectionFailed(f"the answer has {name} that are none")
    if len(results) != count:
        raise ConnectionFailed(f"the answer has other {name} than were asked for")
    return results


def extended_of(answer: Any) -> dict[str, Any]:
    """As the result of an item."""
    return {**job_of(answer), "status": 200}


def job_of(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, dict) or not isinstance(answer.get("id"), str):
        raise ConnectionFailed("the answer has no job")
    return answer


def jobs_of(answer: Any, count: int) -> list[dict[str, Any]]:
    jobs = _items(answer, "jobs")
    if len(jobs) != count:
        raise ConnectionFailed("the answer has other jobs than were asked for")
    return [job_of(job) for job in jobs]


def batch_of(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, dict) or not isinstance(answer.get("id"), str) or not isinstance(answer.get("state"), str):
        raise ConnectionFailed("the answer has no batch")
    return answer


def _items(answer: Any, name: str) -> list[dict[str, Any]]:
    items = answer.get(name) if isinstance(answer, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ConnectionFailed(f"the answer has no {name}")
    return items
