"""What all parts of a worker share."""

from __future__ import annotations

import json
import math
import os
import threading
import time
import uuid
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

from .client import Client
from .errors import ConnectionFailed
from .handling import Handler, Middleware, around, is_coroutine_function
from .job import Ack, Nack, Release, as_outcome, settlement
from .lines import Lines
from .observing import Event, Observing
from .reporting import TOLD, Reporter, failed
from .run import Run
from .threads import thread
from .times import seconds

#: Dibs takes so many items in a request.
MOST_ITEMS = 1000
#: How long a handler may take to end after its signal, when the worker stops.
LAST = 1.0
#: How long the worker then tries to send what is left, and how long it tries to take back a claim.
FLUSH = 5.0


class Claim:
    """The request that wants jobs. The same id is sent until an answer comes, so that no lease is lost with an answer."""

    def __init__(self, session: str | None) -> None:
        self.id = str(uuid.uuid4())
        #: What it named first. With another session it would be another claim.
        self.session = session
        self.sent = 0.0
        self.wait = 0.0
        self.is_repeated = False
        self.is_closed = False
        self.tokens: set[str] = set()


class Settlement:
    """What a worker has to say of a job that it has done. To make one asks what the handler ended with: not under the lock."""

    def __init__(self, run: Run, ended_with: Ack | BaseException, *, is_last: bool = False) -> None:
        self.run = run
        self.outcome, self.verb, self.text = settlement(run.lease, as_outcome(ended_with))
        #: When it is refused, nothing else is said.
        self.is_last = is_last
        #: It was sent before, and no answer came: it may count already.
        self.is_repeated = False
        #: It goes by itself, because something in a batch was refused.
        self.is_alone = False
        self.failures = 0
        self.not_before = 0.0


class WorkerState:
    """Where a worker stands. Whoever changes it holds `_changed`."""

    _takes_coroutines = False

    def __init__(
        self,
        client: Client,
        queues: Sequence[str],
        handler: Handler,
        *,
        concurrency: int = 10,
        lease_seconds: float | None = None,
        wait_seconds: float = 20,
        stop_seconds: float = 25,
        session: bool = True,
        resume_seconds: float = 5,
        name: str | None = None,
        decode: Callable[[str], Any] = json.loads,
        middleware: Sequence[Middleware] = (),
        observe: Callable[[Event], None] | None = None,
    ) -> None:
        if not isinstance(concurrency, int) or not 1 <= concurrency <= 1000:
            raise ValueError("concurrency must be a whole number from 1 to 1000")
        if not isinstance(session, bool):
            raise ValueError("session must be True or False")
        if not self._takes_coroutines and any(map(is_coroutine_function, [handler, *middleware])):
            raise ValueError("a handler or middleware that is a coroutine function is for AsyncWorker")
        self._resume_seconds = seconds("resume_seconds", resume_seconds)
        if self._resume_seconds > 60:
            raise ValueError("resume_seconds must be 60 at most")
        self._client = client
        self._queues = [queues] if isinstance(queues, str) else list(queues)
        self._handler = handler
        for outer in reversed(middleware):
            self._handler = around(outer, self._handler)
        self._concurrency = concurrency
        # The longest that Dibs gives. A longer wait is a second claim, and a longer lease is extended.
        self._lease_seconds = None if lease_seconds is None else min(43_200.0, seconds("lease_seconds", lease_seconds))
        self._wait_seconds = min(60.0, seconds("wait_seconds", wait_seconds))
        self._stop_seconds = seconds("stop_seconds", stop_seconds)
        self._name = name
        self._decode = decode
        self._observing = [Observing(Reporter(), only=TOLD), *([Observing(observe)] if observe else [])]
        self._changed = threading.Condition()
        #: Wakes the worker. It takes no lock, so a signal handler may put something in.
        self._wakes: SimpleQueue[None] = SimpleQueue()
        self._process: int | None = None
        self._is_begun = threading.Event()
        self._phase = "new"
        self._runs: set[Run] = set()
        self._outbox: list[Settlement] = []
        self._claim: Claim | None = None
        self._is_claiming = self._is_settling = self._carries = self._is_closing = False
        self._claim_failures = self._settle_failures = 0
        #: How often in a row a claim that should wait was answered empty at once.
        self._hasty_answers = 0
        self._claim_not_before = self._settle_not_before = 0.0
        self._close_until = 0.0
        #: The session of this worker, held or to be resumed, and the answer that holds it.
        self._session: str | None = None
        self._is_held = False
        self._lines: Lines | None = None
        self._session_failures = 0
        self._session_not_before = 0.0 if session else math.inf
        #: So long claims wait for the session.
        self._claims_wait_until = 0.0
        #: The deadlines that `stop` was given since the worker looked last, and the earliest of all.
        self._stops: list[float] = []
        self._stop_at = math.inf
        #: What is done when an extend has got no answer in time.
        self._overdue: list[tuple[float, Callable[[], None]]] = []
        self._error: BaseException | None = None

    def _observe(self, event: Event) -> None:
        for observing in self._observing:
            observing.tell(event)

    def _working(self) -> list[Run]:
        return [run for run in self._runs if run.state == "running"]

    def _may_claim(self) -> bool:
        is_expecting = self._claims_wait_until > time.monotonic()
        return self._phase == "running" and not self._is_claiming and not is_expecting and self._free() > 0

    def _may_carry(self, now: float) -> bool:
        """A claim that is repeated goes by itself: Dibs may fail at the settlement that carried it."""
        is_repeated = self._claim is not None and self._claim.is_repeated
        return self._may_claim() and self._claim_not_before <= now and not is_repeated

    def _free(self) -> int:
        return self._concurrency - len(self._working())

    def _has_changed(self) -> None:
        self._changed.notify_all()
        self._wakes.put(None)

    def _is_child(self) -> bool:
        """Whether a handler has forked, and this is the child. It has none of the worker's threads."""
        return self._process != os.getpid()

    def _signal(self, run: Run, code: str) -> None:
        if run.signal is None:
            run.signal = code
            self._observe({"type": "signalled", "job": run.lease, "code": code})
            if run.job:
                run.job.signal = code
                run.job.should_end.set()
            self._tell(run)

    def _settle(self, said: Settlement) -> None:
        said.run.state = "settling"
        self._outbox.append(said)
        if isinstance(said.outcome, Nack):
            self._observe(failed(said.run, said.outcome))

    def _done(self, run: Run) -> None:
        run.state = "done"
        self._runs.discard(run)

    def _tell(self, run: Run) -> None:
        """Reaches a handler that does not look at its signal. Threads cannot be reached."""

    def _send(self, request: Callable[[], Any], answered: Callable[[Any, BaseException | None], None]) -> None:
        """Sends in a thread, and tells the answer under the lock."""

        def act() -> None:
            answer, failure = None, None
            try:
                answer = request()
            except BaseException as error:
                failure = error
            with self._changed:
                answered(answer, failure)
                self._has_changed()

        try:
            thread(act).start()
        except RuntimeError as error:
            answered(None, ConnectionFailed(f"the request got no thread: {error}"))
            self._has_changed()
