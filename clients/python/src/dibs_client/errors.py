"""What a request can fail with, and what passes: docs/workers.md, "Which failures pass"."""

from __future__ import annotations

import json
import random
from typing import Any, Literal


class DibsError(Exception):
    """A request was refused. `code` is for programs, and stable."""

    def __init__(self, problem: dict[str, Any], retry_after: float = 0, *, was_accepted: bool = False) -> None:
        self.problem = problem
        self.code: str = problem.get("code", "internal")
        self.status: int = problem.get("status", 500)
        self.retry_after = retry_after
        #: If not, something before Dibs has answered: a proxy.
        self.is_from_dibs = str(problem.get("type", "")).startswith("urn:problem-type:dibs:")
        #: The key is refused, and was accepted a moment ago: it was rotated, or has just ended.
        self.was_accepted = was_accepted
        super().__init__(f"{problem.get('detail') or problem.get('title') or self.code} ({self.code})")

    def __reduce__(self) -> Any:
        # Errors go from process to process (multiprocessing).
        return _again, (self.problem, self.retry_after, self.was_accepted)


def _again(problem: dict[str, Any], retry_after: float, was_accepted: bool) -> DibsError:
    return DibsError(problem, retry_after, was_accepted=was_accepted)


class ConnectionFailed(Exception):
    """No answer came. What was asked for may have been done."""

    code = "connection"


def refusal(status: int, text: str, retry_after: str | None, *, was_accepted: bool) -> DibsError:
    """A proxy may have answered: then there is no problem document of Dibs."""
    try:
        problem = json.loads(text)
        if not (isinstance(problem["code"], str) and isinstance(problem["type"], str)):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        problem = {}
    error = DibsError({**problem, "status": status}, _retry_after(retry_after), was_accepted=was_accepted)
    if error.is_from_dibs:
        return error
    return DibsError({"code": f"http_{status}", "detail": f"{status}: {text[:200]}", "status": status}, error.retry_after)


def _retry_after(given: str | None) -> float:
    """At most a minute: nobody should wait for years."""
    try:
        return min(60.0, max(0.0, float(given or 0)))
    except ValueError:
        return 0.0


def passes(error: BaseException, request: Literal["claim", "settle", "enqueue"]) -> bool:
    """Whether the same request may work a little later."""
    is_settlement = request == "settle"
    if not isinstance(error, DibsError):
        # What a bug of this library does must cost no result.
        return isinstance(error, ConnectionFailed) or is_settlement
    if not error.is_from_dibs:
        return error.status != 413 and (is_settlement or error.status not in (301, 308))
    if error.status == 401:
        return error.was_accepted
    if error.status == 405 or error.code == "route_not_found":
        return is_settlement
    return error.status in (408, 429) or error.status >= 500


def may_be_done(error: BaseException) -> bool:
    """Whether a request that failed may have counted."""
    if isinstance(error, DibsError) and error.is_from_dibs:
        return error.status >= 500 and error.problem.get("outcome") != "not_done"
    return True


def backoff(failures: int, error: BaseException | None) -> float:
    """How long to wait after this many failures in a row: a random share of a time that doubles (full jitter), so that many workers
    do not come back in step."""
    most = min(2.0, 0.1 * 2 ** min(failures, 10))
    if not isinstance(error, DibsError):
        return random.random() * most
    if error.was_accepted:
        return 2 + random.random() * most
    asked = error.retry_after
    return asked + random.random() * (min(most, asked) if asked else most)
