"""What a worker says by itself of what went wrong: by Python's logging, as `dibs_client`."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping
from typing import Any

from .causes import line
from .job import Nack, Undecodable, text_of
from .run import Run

log = logging.getLogger("dibs_client")

#: How long a line about requests that fail keeps the next ones back.
_REST = 10.0
_MOST_START = 300
_MOST_END = 700

#: What may have a line.
TOLD = ("failed", "signalled", "lost", "refused", "retrying")

Said = tuple[int, str, dict[str, Any]]


def one_line(text: str) -> str:
    """The reason of a long text stands at its end."""
    said = re.sub(r"[\x00-\x20\x7f-\x9f\s]+", " ", text).strip()
    return said if len(said) <= _MOST_START + _MOST_END else f"{said[:_MOST_START]} … {said[-_MOST_END:]}"


def failed(run: Run, nack: Nack) -> dict[str, Any]:
    """The event of a nack: what it means for its job."""
    lease = run.lease
    # Below the text of an error, its stack.
    reason = one_line(text_of(nack).split('\n  File "')[0])
    if isinstance(nack, Undecodable):
        reason = "its payload cannot be decoded: see last_error"
    is_dead = not nack.retry or lease.get("attempt", 1) >= lease.get("max_attempts", 1)
    following = "cancelled" if run.signal == "cancel_requested" else "dead" if is_dead else "retry"
    return {"type": "failed", "job": lease, "reason": reason, "next": following, "retry_in_seconds": nack.delay_seconds}


def _named(job: Mapping[str, Any]) -> str:
    return f"job {job['id']} of queue {job['queue']}"


def _next(event: dict[str, Any]) -> str:
    if event["next"] == "dead":
        return "is dead"
    delay = event["retry_in_seconds"]
    return "is tried again after its backoff" if delay is None else f"is tried again in {delay:g} s"


def line_of(event: dict[str, Any]) -> Said | None:
    """The level, the text and the fields of what is to be said, if anything. No payload, no header and no key is in it."""
    kind, job = event["type"], event.get("job")
    fields = {"job_id": job["id"], "queue": job["queue"], "attempt": job.get("attempt")} if job else {}
    if kind == "failed" and event["next"] != "cancelled":
        following, reason, most = _next(event), event["reason"], job.get("max_attempts")
        text = f"{_named(job)} failed at attempt {fields['attempt']} of {most} and {following}: {reason}"
        return logging.ERROR, text, {**fields, "max_attempts": most, "error": reason, "next": following}
    if kind == "signalled" and event["code"].startswith("lease_"):
        why = "is lost" if event["code"] == "lease_lost" else "was not extended in time"
        text = f"the lease of {_named(job)} {why}: another worker may have the job"
        return logging.WARNING, text, {**fields, "code": event["code"]}
    if kind == "lost" and event["verb"]:
        text = f"the {event['verb']} of {_named(job)} came after its lease: it does not count"
        return logging.WARNING, text, {**fields, "verb": event["verb"]}
    if kind == "refused":
        error = one_line(line(event["error"]))
        text = f"the {event['verb']} of {_named(job)} was refused: {error}"
        return logging.WARNING, text, {**fields, "verb": event["verb"], "error": error}
    if kind == "retrying":
        error = one_line(line(event["error"]))
        text = f"the {event['request']} failed, and is tried again soon: {error}"
        return logging.WARNING, text, {"request": event["request"], "error": error}
    return None


class Reporter:
    """Logs what went wrong. While requests fail, it says so now and then."""

    def __init__(self) -> None:
        self._rests_until = 0.0

    def __call__(self, event: dict[str, Any]) -> None:
        if event["type"] == "retrying":
            now = time.monotonic()
            if now < self._rests_until:
                return
            self._rests_until = now + _REST
        if said := line_of(event):
            level, text, fields = said
            log.log(level, "%s", text, extra=fields)
