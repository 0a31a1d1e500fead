"""From the payload to the outcome of a handler."""

from __future__ import annotations

import asyncio
import inspect
import os
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .causes import line
from .job import Job, JobSignal, Nack, Release, Undecodable, is_a
from .run import Run

Handler = Callable[[Job], Any]
Middleware = Callable[[Job, Callable[[], Any]], Any]


def around(outer: Middleware, inner: Handler) -> Handler:
    return lambda job: outer(job, lambda: inner(job))


def is_coroutine_function(given: Any) -> bool:
    """Or an object that is called like one."""
    return any(map(inspect.iscoroutinefunction, (given, getattr(given, "__call__", None))))


def decoded(decode: Callable[[str], Any], job: Job) -> Any:
    try:
        return decode(job.payload_text)
    except Exception as error:
        raise Undecodable(f"the payload cannot be decoded: {line(error)}") from error


def after_signal(run: Run, error: BaseException) -> Any:
    """What a handler raises after its signal is no failure of the job, unless it says so itself."""
    if run.signal == "lease_lost":
        return None
    if run.signal is None or is_a(error, Nack, Release):
        return error
    if run.signal == "cancel_requested":
        is_obedient = is_a(error, JobSignal, asyncio.CancelledError)
        return Nack("cancelled" if is_obedient else line(error))
    return Release()


def end_child(failure: BaseException | None) -> None:
    """The handler has forked, and this is the child. It ends where its handler ends: the job belongs to the parent."""
    status = 1
    try:
        with suppress(BaseException):
            status = _status(failure)
        for stream in (sys.stdout, sys.stderr):
            with suppress(BaseException):
                stream.flush()
    finally:
        os._exit(status)


def _status(failure: BaseException | None) -> int:
    """As a program would end."""
    if failure is None:
        return 0
    if not is_a(failure, SystemExit):
        traceback.print_exception(failure)
        return 1
    code = failure.code  # type: ignore[attr-defined]
    return (code if is_a(code, int) else int(code is not None)) & 0xFF
