"""The session of a worker: a connection that it holds, so that its jobs go to others soon when it is killed."""

from __future__ import annotations

import math
import time
from typing import Any

from .errors import ConnectionFailed, DibsError, backoff, chance, passes
from .lines import Lines
from .run import LONGEST_PAUSE
from .state import WorkerState

#: Dibs sends the first line at once. When it takes longer, something on the way holds the lines back.
PATIENCE = 5.0
#: Dibs sends a line every 3 s.
SILENCE = 10.0
#: Claims wait no longer for a session that is being opened or resumed.
CLAIMS_WAIT = 1.0
#: A connection that held for so long was no failure.
LASTING = 5.0
#: After a refusal. A third more at most, at random.
REST = 60.0


class Holding(WorkerState):
    """Holds a session until the worker has ended. In doubt, claims name none: they work as ever.

        none --the first line--> held --the answer is over--> to be resumed --the first line--> held
          \\--------------------the session has ended-----------------/

    Nothing of it is told to the observer. What goes wrong with it ends no worker.
    """

    def _expect_session(self) -> None:
        """Claims wait a moment for it."""
        if self._session_not_before < math.inf:
            self._claims_wait_until = time.monotonic() + CLAIMS_WAIT

    def _hold(self, now: float) -> float:
        """Opens the session, or resumes it, when that is due. Tells when to look again. A worker that stops opens none."""
        if self._lines or (self._phase != "running" and self._session is None):
            return math.inf
        if self._session_not_before > now:
            return self._session_not_before
        lines = self._lines = Lines(PATIENCE)
        asked = self._session
        body: dict[str, Any] = {"resume_seconds": self._resume_seconds}
        if asked is not None:
            body["session"] = asked

        def read() -> str:
            """Returns why Dibs has ended the answer."""
            try:
                line = self._client.hold("/sessions", body, lines)
                self._opened(lines, line)
                while "lost" not in (line := lines.next(SILENCE)):
                    pass
                return str(line["lost"])
            finally:
                lines.close()

        def over(lost: str | None, error: BaseException | None) -> None:
            was_held = self._is_held or lines.is_over
            has_lasted = was_held and time.monotonic() - now >= LASTING
            self._is_held, self._lines = False, None
            if has_lasted:
                self._session_failures = 0
            pause = self._pause(lines, asked, was_held, lost, error)
            self._session_not_before = time.monotonic() + pause
            self._claims_wait_until = 0.0
            if has_lasted and pause == 0 and not lines.is_over:
                self._expect_session()

        self._send(read, over)
        return math.inf

    def _opened(self, lines: Lines, line: dict[str, Any]) -> None:
        session = line.get("session")
        if not isinstance(session, str):
            raise ConnectionFailed("the answer has no session")
        with self._changed:
            if not lines.is_over:
                self._session, self._is_held = session, True
                self._claims_wait_until = 0.0
                self._has_changed()

    def _pause(
        self, lines: Lines, asked: str | None, was_held: bool, lost: str | None, error: BaseException | None
    ) -> float:
        """Notes what has become of the session, and tells for how long it is left alone."""
        failures = self._session_failures
        if asked is not None and isinstance(error, DibsError) and error.code == "session_not_found":
            self._session_ended(asked)
            return 0
        if lost == "session_ended" and self._session is not None:
            self._session_ended(self._session)
        if was_held:  # At once, but for an answer that always ends after its first line.
            self._session_failures += 1
            return min(backoff(failures, error), LONGEST_PAUSE) if failures else 0
        if lines.is_late() and isinstance(error, ConnectionFailed):
            if self._session is not None and self._is_used(self._session):
                return 0  # Each try keeps it for `resume_seconds` more.
            self._session = None
            return _rest()
        if error is not None and passes(error, "claim"):
            self._session_failures += 1
            return min(backoff(failures, error), LONGEST_PAUSE)
        return _rest()

    def _session_ended(self, session: str) -> None:
        """Its leases have ended with it. Dibs says so when they are extended: then the handlers are told."""
        if self._session == session:
            self._session, self._is_held = None, False
            if self._lines:
                self._lines.hang_up()
        for run in self._runs:
            if run.session == session:
                run.doubt()

    def _is_used(self, session: str) -> bool:
        is_named = self._claim is not None and self._claim.session == session
        return is_named or any(run.session == session for run in self._runs)

    def _hang_up(self) -> None:
        if self._lines:
            self._lines.hang_up()


def _rest() -> float:
    return REST * (1 + chance() / 3)
