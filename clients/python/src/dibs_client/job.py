"""A job as its handler sees it, and what a handler can say of it."""

from __future__ import annotations

import json
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class JobSignal(Exception):
    """Why a handler should end. `code` is lease_lost, lease_expired, cancel_requested or stopping."""

    def __init__(self, code: str) -> None:
        self.code = code
        super().__init__(code)


@dataclass
class Ack:
    """The job is done. Return it from a handler that has more to say than a result."""

    result: Any = None
    enqueue: list[dict[str, Any]] = field(default_factory=list)


class Nack(Exception):
    """The job failed. Raise it to say more than an exception can."""

    def __init__(
        self,
        error: str,
        *,
        retry: bool = True,
        delay_seconds: float | None = None,
        enqueue: list[dict[str, Any]] | None = None,
    ) -> None:
        self.retry = retry
        self.delay_seconds = delay_seconds
        self.enqueue = enqueue
        super().__init__(error)


class Release(Exception):
    """The job goes back unworked. Its attempt is not charged."""

    def __init__(self, delay_seconds: float | None = None) -> None:
        self.delay_seconds = delay_seconds
        super().__init__("released")


class Job:
    """A job as its handler sees it."""

    def __init__(self, lease: dict[str, Any], payload: Any = None, report: Callable[[Any], None] | None = None) -> None:
        #: All that Dibs says of it.
        self.lease = lease
        self.id: str = lease["id"]
        self.queue: str = lease["queue"]
        self.payload = payload
        #: The JSON text of the payload, exactly as it was sent.
        self.payload_text: str = lease.get("payload_text", "null")
        self.headers: dict[str, str] = lease.get("headers", {})
        #: How many attempts are charged, this one too.
        self.attempt: int = lease.get("attempt", 1)
        #: How many leases it ever had: a fencing token for your own writes.
        self.deliveries: int = lease.get("deliveries", 1)
        #: What an earlier attempt reported last.
        self.last_progress: Any = lease.get("progress")
        #: Set when the handler should end. `signal` says why.
        self.should_end = threading.Event()
        self.signal: str | None = None
        self._report = report or (lambda value: None)

    def check(self) -> None:
        """Raises JobSignal when the handler should end."""
        if self.signal is not None:
            raise JobSignal(self.signal)

    def sleep(self, seconds: float) -> None:
        """Sleeps. Raises JobSignal when the handler should end."""
        self.should_end.wait(seconds)
        self.check()

    def progress(self, value: Any) -> None:
        """Tells people who look at the job how far it is. Returns when Dibs has it."""
        self._report(value)


def settlement(lease: dict[str, Any], outcome: Any) -> tuple[str, str]:
    """The verb, and the item of `POST /jobs/settle` as JSON."""
    item: dict[str, Any] = {"id": lease["id"], "lease_token": lease["lease_token"]}
    if isinstance(outcome, Release):
        if outcome.delay_seconds is not None:
            item["delay_seconds"] = outcome.delay_seconds
        return "release", json.dumps(item)
    if isinstance(outcome, Ack):
        if outcome.enqueue:
            item["enqueue"] = outcome.enqueue
        if outcome.result is not None:
            item["result"] = outcome.result
        try:
            return "ack", json.dumps(item, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            return settlement(lease, Nack(f"the result cannot be written as JSON: {error}", retry=False))
    nack = outcome if isinstance(outcome, Nack) else Nack(_said(outcome))
    text = str(nack).replace("\0", "\ufffd")
    item["error"] = text.encode("utf-8", "replace").decode()
    if not nack.retry:
        item["retry"] = False
    if nack.delay_seconds is not None:
        item["delay_seconds"] = nack.delay_seconds
    if nack.enqueue:
        item["enqueue"] = nack.enqueue
    return "nack", json.dumps(item)


def _said(error: BaseException) -> str:
    """Its message first: what is kept is cut at the end."""
    where = "".join(traceback.format_tb(error.__traceback__))
    return f"{type(error).__name__}: {error}\n{where}"
