"""A job as its handler sees it, and what a handler can say of it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from . import times
from .causes import MOST, cut, line, message_of, said, with_causes


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


class Undecodable(Nack):
    """What the decoder says may show the payload."""


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
        #: The id of its batch, if it is in one. Follow-ups with `"batch": job.batch` come into it, also when it is closed. Of a job that
        #: is in none, they come into none.
        self.batch: str | None = lease.get("batch")
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
        times.wait(self.should_end, times.seconds("seconds", max(seconds, 0)))
        self.check()

    def progress(self, value: Any) -> None:
        """Tells people who look at the job how far it is. Returns when Dibs has it."""
        self._report(value)


def settlement(lease: dict[str, Any], outcome: Ack | Nack | Release) -> tuple[Ack | Nack | Release, str, str]:
    """The outcome, its verb, and the item of `POST /jobs/settle` as JSON. What cannot be written becomes a nack that says so."""
    item = {"id": lease["id"], "lease_token": lease["lease_token"]}
    try:
        outcome = _plain(outcome)
        verb, more = _item(outcome)
        return outcome, verb, json.dumps({**item, **more}, allow_nan=False)
    except BaseException as error:
        return settlement(lease, second_word(outcome, f"it cannot be written as JSON: {line(error)}"))


def _plain(outcome: Ack | Nack | Release) -> Ack | Nack | Release:
    """A nack of a class of the user's own is asked once."""
    if not is_a(outcome, Nack):
        return outcome
    kind = Undecodable if is_a(outcome, Undecodable) else Nack
    text = text_of(outcome)  # type: ignore[arg-type]
    return kind(text, retry=bool(outcome.retry), delay_seconds=outcome.delay_seconds, enqueue=outcome.enqueue)  # type: ignore[union-attr]


def _item(outcome: Ack | Nack | Release) -> tuple[str, dict[str, Any]]:
    if isinstance(outcome, Ack):
        return "ack", _given(enqueue=_follow_ups(outcome.enqueue), result=outcome.result)
    if isinstance(outcome, Release):
        return "release", _given(delay_seconds=outcome.delay_seconds)
    return "nack", _given(
        error=text_of(outcome),
        retry=None if outcome.retry else False,
        delay_seconds=outcome.delay_seconds,
        enqueue=_follow_ups(outcome.enqueue),
    )


def _follow_ups(jobs: Any) -> Any:
    """Without the batch of those that are in none. What is no list of jobs is left to Dibs to refuse."""
    if not is_a(jobs, list, tuple):
        return jobs or None
    return [
        {name: value for name, value in job.items() if name != "batch" or value is not None} if is_a(job, dict) else job for job in jobs
    ] or None


def _given(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def text_of(nack: Nack) -> str:
    """What it says, with its causes."""
    causes = [nack.__cause__] if nack.__cause__ else []
    text = with_causes(message_of(nack), nack, causes) if causes else cut(message_of(nack), MOST)
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()


def as_outcome(ended_with: Ack | BaseException) -> Ack | Nack | Release:
    """Whatever a handler ends with is a result."""
    return ended_with if is_a(ended_with, Ack, Nack, Release) else Nack(said(ended_with))  # type: ignore[return-value, arg-type]


def is_a(value: object, *kinds: type) -> bool:
    """As `isinstance`, which asks the value, too: it may raise."""
    return issubclass(type(value), kinds)


def second_word(outcome: Ack | Nack | Release, why: str) -> Nack:
    """What is said when Dibs cannot take the outcome. To do work that was done again would not help."""
    if is_a(outcome, Ack):
        return Nack(f"the ack was refused: {why}", retry=False)
    if is_a(outcome, Release):
        return Nack(f"the release was refused: {why}")
    try:
        is_for_good = outcome.retry is False  # type: ignore[union-attr]
    except BaseException:
        is_for_good = False
    text = cut(message_of(outcome), MOST // 2)  # type: ignore[arg-type]
    return Nack(f"{text}\nthe nack was refused as it was: {why}", retry=not is_for_good)
