"""Workers: claim jobs, let a handler work on them, extend their leases, and settle them."""

from __future__ import annotations

import os
import queue
import socket
import threading
import time
from collections.abc import Callable

from .job import Release
from .settling import Settling
from .signals import heard_by
from .state import FLUSH, LAST, Settlement
from .threads import thread
from .times import seconds
from .working import Working

#: In seconds. A signal interrupts a wait, but one that comes just before it does not. It is heard when the wait is over.
_HEARS_WITHIN = 1


class Worker(Settling, Working):
    """Claims jobs, lets the handler work on them in threads, extends their leases, and settles them.

        new --run()--> running --stop(), or a refused claim--> stopping --nothing is left, or time is up--> stopped

    Three kinds of request go side by side, at most one of each: a claim that waits for jobs, a settlement of all that is done, and an
    attempt to take back a claim when the worker stops. While no claim waits, a settlement carries one that does not wait: then there
    is one request for each job. Another one holds the session. One thread looks at what stands, sends what is due, and sleeps until
    something changes. No signal of the operating system interrupts it: those interrupt `run`, which only waits for its end.
    """

    def run(self) -> None:
        """Works until `stop`. Raises DibsError when Dibs refuses a claim for good: a name that is wrong, a key that may not.

        Ctrl-C, or whatever a signal handler raises, stops it as `stop` does, and is raised at the end. A second one makes the
        deadline now, and a third leaves at once."""
        over = threading.Event()
        interruptions: list[BaseException] = []
        pump = self._ready(over.set)
        while True:
            try:
                if not interruptions:
                    pump.start()
                elif not (self._hasten(len(interruptions)) and self._is_begun.wait(FLUSH)):
                    break
                while not over.wait(_HEARS_WITHIN):
                    pass
                break
            except BaseException as error:
                interruptions.append(error)
        if interruptions:
            raise interruptions[-1]
        if self._error:
            raise self._error

    def run_until_signal(self) -> None:
        """As `run`, until SIGTERM or Ctrl-C, which stop it as `stop` does. A second one makes the deadline now."""
        with heard_by(self.stop):
            self.run()

    def stop(self, deadline_seconds: float | None = None) -> None:
        """Asks `run` to take no more jobs, to let the handlers end, and to return. It does not wait for that. The earliest deadline
        counts. It takes no lock and never fails, so it may be called anywhere: by a signal handler, a handler or an observer, before
        `run`, and twice."""
        try:
            left = self._stop_seconds if deadline_seconds is None else seconds("deadline_seconds", deadline_seconds)
        except ValueError:
            left = 0.0
        self._stops.append(time.monotonic() + left)
        self._wakes.put(None)

    def _ready(self, over: Callable[[], object]) -> threading.Thread:
        """The thread that works. It calls `over` at the end."""
        with self._changed:
            if self._phase != "new":
                raise RuntimeError("a worker runs once")
            self._phase = "running"
            self._expect_session()
        self._process = os.getpid()
        if self._name is None:
            self._name = f"{socket.gethostname()[:200]}:{self._process}"
        return thread(self._pump, over)

    def _hasten(self, interruptions: int) -> bool:
        """Each interruption of `run` makes the end come sooner. Tells whether it is worth waiting for."""
        if interruptions <= 2:
            self.stop(None if interruptions == 1 else 0)
        return interruptions <= 2

    def _pump(self, over: Callable[[], object]) -> None:
        self._is_begun.set()
        try:
            for observing in self._observing:
                observing.start()
            while self._phase != "stopped":
                with self._changed:
                    wake = self._look()
                if self._phase != "stopped":
                    self._sleep(wake)
        except BaseException as bug:
            self._error = bug
            self._phase = "stopped"
        with self._changed:
            self._hang_up()
            self._has_changed()  # Whoever waits for progress.
        self._observe({"type": "stopped", "error": self._error})
        for observing in self._observing:
            observing.end(FLUSH)
        over()

    def _sleep(self, until: float) -> None:
        try:
            self._wakes.get(timeout=max(0.0, min(60.0, until - time.monotonic())))
        except queue.Empty:
            return
        while not self._wakes.empty():
            self._wakes.get()

    def _look(self) -> float:
        """Sends what is due, and tells when to look again."""
        now = time.monotonic()
        while self._stops:
            self._begin_stop(self._stops.pop(), now)
        for due in [one for one in self._overdue if one[0] <= now]:
            self._overdue.remove(due)
            due[1]()
        wakes = self._keep_deadline(now) if self._phase == "stopping" else []
        wakes += [self._beat(now), self._hold(now)]
        wakes += [when for when, _ in self._overdue]
        if self._claims_wait_until > now:
            wakes.append(self._claims_wait_until)
        for run in list(self._runs):
            if not run.is_begun and run.state == "running" and (run.is_confirmed or run.signal):
                self._begin_when_alone(run)
        if self._outbox and not self._is_settling:
            due_at = max(self._settle_not_before, min(one.not_before for one in self._outbox))
            if due_at > now:
                wakes.append(due_at)
            else:
                self._send_settlements(self._may_carry(now))
        is_closable = self._phase == "stopping" and self._claim and not self._is_closing and not self._carries
        if is_closable:
            if now > self._close_until:
                self._close(self._claim)
            else:
                wakes.append(self._close_until + 0.001)
        if self._may_claim() or (is_closable and self._claim):
            if self._claim_not_before > now:
                wakes.append(self._claim_not_before)
            elif is_closable:
                self._close_claim()
            else:
                self._send_claim()
        is_idle = not (self._is_claiming or self._is_settling or self._is_closing)
        if self._phase == "stopping" and is_idle and not self._claim and not self._runs:
            self._phase = "stopped"
        return min(wakes)

    def _begin_stop(self, deadline: float, now: float) -> None:
        self._stop_at = min(self._stop_at, deadline)
        if self._phase == "running":
            self._phase = "stopping"
            self._close_until = now + FLUSH
            self._observe({"type": "stopping"})

    def _keep_deadline(self, now: float) -> list[float]:
        """Ends what the deadline of `stop` ends, and tells when there is more to end."""
        ends = [self._stop_at, self._stop_at + LAST, self._stop_at + LAST + FLUSH]
        if ends[0] <= now:
            for run in self._working():
                self._signal(run, "stopping")
        if ends[1] <= now:
            for run in self._working():
                self._settle(Settlement(run, Release()))
        if ends[2] <= now:
            self._phase = "stopped"
        return [end for end in ends if end > now]
