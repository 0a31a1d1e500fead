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


def refusal(status: int, text: str, retry_after: str | None, key: str | None, *, was_accepted: bool) -> DibsError:
    """A proxy may have answered: then there is no problem document of Dibs. Whatever is quoted of the key is left out."""
    wait = _retry_after(retry_after)
    try:
        problem = json.loads(text)
        error = DibsError({**_hidden(problem, key), "status": status}, wait, was_accepted=was_accepted)
        if error.is_from_dibs and isinstance(error.code, str):
            return error
    except (ValueError, TypeError, AttributeError, RecursionError):
        pass
    return DibsError({"code": f"http_{status}", "detail": f"{status}: {without(key, text)[:200]}", "status": status}, wait)


def without(key: str | None, text: str) -> str:
    return text.replace(key, "[key]") if key else text


def _hidden(told: Any, key: str | None) -> Any:
    """Without the key wherever a text is for people. A short key may be a part of a `type` or `code`: those stay."""
    if isinstance(told, str):
        return without(key, told)
    if isinstance(told, list):
        return [_hidden(one, key) for one in told]
    if isinstance(told, dict):
        return {name: one if name in ("type", "code") else _hidden(one, key) for name, one in told.items()}
    return told


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


#: Not the one that all share: a program may seed that, or fork, and then many workers would come back in step.
chance = random.SystemRandom().random


def backoff(failures: int, error: BaseException | None, share: float | None = None) -> float:
    """How long to wait after this many failures in a row: a random share of a time that doubles (full jitter), so that many workers
    do not come back in step. What should go together again has one share."""
    most = min(2.0, 0.1 * 2 ** min(failures, 10))
    if share is None:
        share = chance()
    if not isinstance(error, DibsError):
        return share * most
    if error.was_accepted:
        return 2 + share * most
    asked = error.retry_after
    return asked + share * (min(most, asked) if asked else most)
