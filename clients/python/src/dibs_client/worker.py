"""Workers: claim jobs, let a handler work on them, extend their leases, and settle them."""

from __future__ import annotations

import threading
import time
from typing import Any

from .extending import Extending
from .handling import after_signal, decoded
from .job import Ack, Job, JobSignal, Release
from .run import Run
from .settling import Settling
from .state import FLUSH, LAST


class Worker(Settling, Extending):
    """Claims jobs, lets the handler work on them in threads, extends their leases, and settles them.

        new --run()--> running --stop(), or a refused claim--> stopping --nothing is left, or time is up--> stopped

    Three kinds of request go side by side, at most one of each: a claim that waits for jobs, a settlement of all that is done, and an
    attempt to take back a claim when the worker stops. While no claim waits, a settlement carries one that does not wait: then there
    is one request for each job. `run` looks at what stands, sends what is due, and sleeps until something changes.
    """

    def run(self) -> None:
        """Works until `stop`. Raises DibsError when Dibs refuses a claim for good: a name that is wrong, a key that may not."""
        with self._changed:
            if self._phase != "new":
                raise RuntimeError("a worker runs once")
            self._phase = "running"
            while self._phase != "stopped":
                wake = self._look()
                if self._phase != "stopped" and not self._stops:
                    self._changed.wait(max(0.0, min(60.0, wake - time.monotonic())))
        self._observe({"type": "stopped", "error": self._error})
        if self._error:
            raise self._error

    def stop(self, deadline_seconds: float | None = None) -> None:
        """Asks `run` to take no more jobs, to let the handlers end, and to return. It may be called by a signal handler. A second call
        may make the time shorter."""
        with self._changed:
            self._stops.append(time.monotonic() + (self._stop_seconds if deadline_seconds is None else deadline_seconds))
            self._changed.notify_all()

    # ---- What is due

    def _look(self) -> float:
        """Sends what is due, and tells when to look again."""
        while self._stops:
            self._begin_stop(self._stops.pop())
        now = time.monotonic()
        for due in [one for one in self._deadlines if one[0] <= now]:
            self._deadlines.remove(due)
            due[1]()
        wakes = [when for when, _ in self._deadlines]
        wakes.append(self._beat(now))
        for run in list(self._runs):
            if not run.is_begun and run.state == "running" and (run.is_confirmed or run.signal):
                self._begin_when_alone(run)
        if self._outbox and not self._is_settling:
            due_at = max(self._settle_not_before, min(one.not_before for one in self._outbox))
            if due_at > now:
                wakes.append(due_at)
            else:
                self._send_settlements(self._may_claim() and self._claim_not_before <= now)
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

    def _begin_stop(self, deadline: float) -> None:
        if self._phase == "running":
            self._phase = "stopping"
            self._close_until = time.monotonic() + FLUSH
            self._observe({"type": "stopping"})
        self._deadlines += [
            (deadline, lambda: [self._signal(run, "stopping") for run in self._working()] and None),
            (deadline + LAST, lambda: [self._settle(run, Release()) for run in self._working()] and None),
            (deadline + LAST + FLUSH, self._finish),
        ]

    def _finish(self) -> None:
        self._phase = "stopped"

    # ---- Working

    def _begin_when_alone(self, run: Run) -> None:
        """A job may come back while its old handler, whose lease is lost, still runs here: the new one waits for the end of that."""
        others = [one for one in self._runs if one is not run and one.id == run.id and one.is_begun]
        if any(not one.ended.is_set() for one in others):
            return
        run.is_begun = True
        if run.signal:
            self._handled(run, after_signal(run, JobSignal(run.signal)))
        else:
            run.job = Job(run.lease, None, lambda value: self._report(run, value))
            self._begin(run)

    def _begin(self, run: Run) -> None:
        threading.Thread(target=self._work, args=[run], daemon=True).start()

    def _work(self, run: Run) -> None:
        assert run.job
        began = time.monotonic()
        self._observe({"type": "started", "job": run.lease})
        failure: BaseException | None = None
        try:
            run.job.payload = decoded(self._decode, run.job)
            answer = self._handler(run.job)
            outcome: Any = answer if isinstance(answer, Ack) else Ack(answer)
        except Exception as error:
            failure = error
            outcome = after_signal(run, error)
        self._over(run, outcome, began, failure)

    def _over(self, run: Run, outcome: Any, began: float, failure: BaseException | None) -> None:
        with self._changed:
            self._observe({"type": "ended", "job": run.lease, "seconds": time.monotonic() - began, "error": failure})
            self._handled(run, outcome)
            self._changed.notify_all()

    def _handled(self, run: Run, outcome: Any) -> None:
        run.ended.set()
        if run.state != "running":
            return  # It was released meanwhile, because the worker's time was over.
        if outcome is not None:
            self._settle(run, outcome)
        else:
            self._done(run)
            self._observe({"type": "lost", "job": run.lease, "verb": None})
