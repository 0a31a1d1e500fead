"""One job that a worker has."""

from __future__ import annotations

import threading
import time
from typing import Any

from .errors import backoff, chance
from .job import Job

#: Between two extends, however long a Retry-After asks to wait. A third more at most, at random, so that many workers do not come
#: in step.
LONGEST_PAUSE = 3.0
#: Between the extends of a lease whose session has ended.
DOUBTED = 1.0


def pause_after(failures: int, error: BaseException | None) -> float:
    """Before an extend that failed is sent again."""
    return min(backoff(failures, error), LONGEST_PAUSE * (1 + chance() / 3))


class Run:
    """Where a job of this worker stands.

        running --the handler ends--> settling --Dibs answers--> done
           \\--the lease is lost, and the handler fails-------------/

    Its lease is extended until it is done. What an extend says of the lease counts only while it is running: later, the settlement's
    own answer decides. Times are by the monotonic clock of this process: the server's clock plays no part.
    """

    def __init__(self, lease: dict[str, Any], *, session: str | None, is_doubtful: bool) -> None:
        """A doubtful lease may be over already: its job is begun only after an extend."""
        self.lease = lease
        #: The one that its claim named.
        self.session = session
        self.id: str = lease["id"]
        self.seconds: float = lease["lease_seconds"]
        self.state = "running"
        self.lost = False
        self.signal: str | None = None
        self.job: Job | None = None
        self.task: Any = None
        self.extending = False
        self.turn = 0
        self.failures = 0
        #: Progress to send: the value, and who waits for it.
        self.report: tuple[Any, list[Any]] | None = None
        #: Its session has ended. Dibs takes the lease back in a moment: extends, one in each second, tell when it has.
        self.has_no_session = False
        #: The first of these is due at once.
        self.is_in_doubt = False
        self.is_confirmed = not is_doubtful
        self.is_begun = False
        self.ended = threading.Event()
        now = time.monotonic()
        self.lease_ends = now + self.seconds
        self.extend_at = now if is_doubtful else self._next(now)

    def _next(self, since: float) -> float:
        """A third of the lease later, or a little earlier, so that leases do not move in step."""
        pause = self.seconds * (0.8 + 0.2 * chance()) / 3
        return since + (min(pause, DOUBTED) if self.has_no_session else pause)

    def doubt(self) -> None:
        self.has_no_session = self.is_in_doubt = True

    def extended(self, sent: float) -> None:
        """An extend that was sent at this moment counted. A late answer takes nothing back of what a later extend got."""
        if sent + self.seconds >= self.lease_ends:
            self.lease_ends = sent + self.seconds
            self.extend_at = self._next(sent)
        self.failures = 0
        self.is_confirmed = True

    def failed(self, now: float, pause: float) -> None:
        """It is sent again soon, while there is something left of the lease, and after that, too."""
        self.extend_at = now + min(self.seconds / 6, pause)
        self.failures += 1

    def beats(self) -> bool:
        return self.state != "done" and not self.lost and not self.extending

    def due(self) -> float:
        """A report goes at once. After a failure, it waits for the extend that is sent again."""
        is_at_once = self.is_in_doubt or (self.report and self.failures == 0)
        return 0 if is_at_once else self.extend_at

    def is_near(self, now: float) -> bool:
        """Whether it is due, or soon enough to go with others. A pause after a failure is kept."""
        return self.due() <= now + (self.seconds * 0.03 if self.failures == 0 else 0)
