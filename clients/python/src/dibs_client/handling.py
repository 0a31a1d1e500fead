"""From the payload to the outcome of a handler."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .job import Job, JobSignal, Nack, Release
from .run import Run

Handler = Callable[[Job], Any]
Middleware = Callable[[Job, Callable[[], Any]], Any]


def around(outer: Middleware, inner: Handler) -> Handler:
    return lambda job: outer(job, lambda: inner(job))


def decoded(decode: Callable[[str], Any], job: Job) -> Any:
    try:
        return decode(job.payload_text)
    except (Exception, RecursionError) as error:
        raise Nack(f"the payload cannot be decoded: {error!r}") from error


def after_signal(run: Run, error: BaseException) -> Any:
    """What a handler raises after its signal is no failure of the job, unless it says so itself."""
    if run.signal == "lease_lost":
        return None
    if run.signal is None or isinstance(error, (Nack, Release)):
        return error
    if run.signal == "cancel_requested":
        return Nack("cancelled" if isinstance(error, JobSignal) else repr(error))
    return Release()
