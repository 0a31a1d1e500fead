"""Times that a user gives. Every length is fine, `math.inf` too."""

from __future__ import annotations

import math
import threading
import time

#: Longer waits go in several: Python's locks refuse more than `threading.TIMEOUT_MAX`, and sockets wrap around at 2**32 ms.
_LONGEST_WAIT = 1e6


def seconds(name: str, given: float) -> float:
    """Raises ValueError for what is no number, or negative."""
    try:
        value = math.nan if isinstance(given, (str, bytes)) else float(given)
    except OverflowError:  # An integer that is too large for a float.
        value = math.inf if given > 0 else -math.inf
    except (TypeError, ValueError):
        value = math.nan
    if not value >= 0:
        raise ValueError(f"{name} must be a number of seconds, 0 or more")
    return value


def wait(event: threading.Event, limit: float) -> bool:
    """Waits for the event for any length of time, and tells whether it is set."""
    end = time.monotonic() + limit
    while not event.is_set() and (left := end - time.monotonic()) > 0:
        event.wait(min(left, _LONGEST_WAIT))
    return event.is_set()


def socket_timeout(limit: float) -> float | None:
    return None if limit > _LONGEST_WAIT else max(limit, 0.001)
