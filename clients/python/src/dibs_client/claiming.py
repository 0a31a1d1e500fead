"""Gets jobs for a worker."""

from __future__ import annotations

import time
from typing import Any

from .answers import leases_of
from .errors import DibsError, backoff, passes
from .job import Release
from .run import Run
from .session import Holding
from .state import FLUSH, Claim, Settlement

#: An empty answer that comes sooner has not waited for jobs: that of a proxy, or of a replica that drains.
AT_ONCE = 0.5


class Claiming(Holding):
    """One claim that waits asks for all free places."""

    def _next_claim(self, wait: float) -> tuple[Claim, dict[str, Any]]:
        """The body of the claim. An unanswered one goes again, with its id."""
        claim = self._claim = self._claim or Claim(self._session if self._is_held else None)
        claim.sent, claim.wait = time.monotonic(), wait
        body: dict[str, Any] = {
            "queues": self._queues,
            "limit": max(1, self._free()),
            "wait_seconds": wait,
            "claim_id": claim.id,
            "payload_format": "text",
        }
        if self._lease_seconds is not None:
            body["lease_seconds"] = self._lease_seconds
        if self._name is not None:
            body["worker"] = self._name
        if claim.session is not None:
            body["session"] = claim.session
        return claim, body

    def _send_claim(self) -> None:
        self._is_claiming = True
        claim, body = self._next_claim(self._wait_seconds)

        def answered(answer: Any, error: BaseException | None) -> None:
            if not claim.is_closed:
                self._is_claiming = False
            if error is None:
                self._claimed(claim, answer)
            elif self._claim is claim:  # If not, it was closed meanwhile.
                self._claim_failed(error)

        self._send(lambda: leases_of(self._client.claim_jobs(body)), answered)  # type: ignore[arg-type]

    def _close(self, claim: Claim | None) -> None:
        """The claim's first request, if it still waits, is waited for no more."""
        if claim and not claim.is_closed:
            claim.is_closed = True
            self._is_claiming = False
        self._claim = None

    def _close_claim(self) -> None:
        """A claim that waits, or whose answer was lost, is repeated by one that does not wait. It takes the place of the first, and gets
        what the first got. So when the worker stops, no job is left behind with a lease."""
        self._is_closing = True
        claim, body = self._next_claim(0)
        body["limit"] = 1

        def answered(answer: Any, error: BaseException | None) -> None:
            self._is_closing = False
            if error is None:
                self._claimed(claim, answer)
                self._close(claim)
            else:
                self._claim_failed(error)

        self._send(lambda: leases_of(self._client.claim_jobs(body, timeout=FLUSH)), answered)  # type: ignore[arg-type]

    def _claimed(self, claim: Claim, jobs: list[dict[str, Any]]) -> None:
        if self._claim is claim:
            self._claim = None
        self._claim_failures = 0
        now = time.monotonic()
        if jobs or now - claim.sent >= AT_ONCE:
            self._hasty_answers = 0
        elif claim.wait >= 1:
            self._claim_not_before = now + backoff(self._hasty_answers, None)
            self._hasty_answers += 1
        late = now - claim.sent - claim.wait
        # Its session has ended meanwhile, and the leases with it.
        is_fenced = claim.session is not None and claim.session != self._session
        fresh = [job for job in jobs if job["lease_token"] not in claim.tokens]
        if fresh:
            self._observe({"type": "claimed", "jobs": fresh})
        for job in fresh:
            claim.tokens.add(job["lease_token"])
            is_doubtful = claim.is_repeated or is_fenced or late > job["lease_seconds"] / 3
            run = Run(job, session=claim.session, is_doubtful=is_doubtful)
            self._runs.add(run)
            if self._phase != "running":
                self._settle(Settlement(run, Release()))

    def _claim_failed(self, error: BaseException) -> None:
        claim = self._claim
        if claim and claim.session is not None and isinstance(error, DibsError) and error.code == "session_not_found":
            self._session_ended(claim.session)
            self._close(claim)
            return  # The next claim goes at once, without it.
        if claim:
            claim.is_repeated = True
        if not passes(error, "claim"):
            self._close(claim)
            self._error = self._error or error
            self._stops.append(time.monotonic() + self._stop_seconds)
            return
        pause = backoff(self._claim_failures, error)
        self._claim_failures += 1
        self._claim_not_before = time.monotonic() + pause
        self._observe({"type": "retrying", "request": "claim", "error": error, "seconds": pause})
