"""Lets the handler work on the jobs of a worker."""

from __future__ import annotations

import time
from typing import Any

from .extending import Extending
from .handling import after_signal, decoded, end_child
from .job import Ack, Job, JobSignal, Release
from .run import Run
from .state import Settlement
from .threads import thread


class Working(Extending):
    """Begins the handlers, each in a thread, and takes what they end with."""

    def _begin_when_alone(self, run: Run) -> None:
        """A job may come back while its old handler, whose lease is lost, still runs here: the new one waits for the end of that."""
        others = [one for one in self._runs if one is not run and one.id == run.id and one.is_begun]
        if any(not one.ended.is_set() for one in others):
            return
        run.is_begun = True
        if run.signal:
            self._handled(run, _said(run, after_signal(run, JobSignal(run.signal))))
        else:
            run.job = Job(dict(run.lease), None, lambda value: self._report(run, value))
            self._begin(run)

    def _begin(self, run: Run) -> None:
        try:
            thread(self._work, run).start()
        except RuntimeError:  # No more threads: another worker may have one.
            self._handled(run, Settlement(run, Release(delay_seconds=1)))

    def _work(self, run: Run) -> None:
        assert run.job
        began = time.monotonic()
        self._observe({"type": "started", "job": run.lease})
        failure: BaseException | None = None
        try:
            run.job.payload = decoded(self._decode, run.job)
            answer = self._handler(run.job)
            outcome: Any = answer if isinstance(answer, Ack) else Ack(answer)
        except BaseException as error:  # sys.exit() too: whatever a handler ends with is a result.
            failure = error
            outcome = after_signal(run, error)
        self._over(run, outcome, began, failure)

    def _over(self, run: Run, outcome: Any, began: float, failure: BaseException | None) -> None:
        if self._is_child():
            end_child(failure)
        self._observe({"type": "ended", "job": run.lease, "seconds": time.monotonic() - began, "error": failure})
        said = _said(run, outcome)
        with self._changed:
            self._handled(run, said)
            self._has_changed()

    def _handled(self, run: Run, said: Settlement | None) -> None:
        run.ended.set()
        if run.state != "running":
            return  # It was released meanwhile, because the worker's time was over.
        if said:
            self._settle(said)
        else:
            self._done(run)
            self._observe({"type": "lost", "job": run.lease, "verb": None})


def _said(run: Run, outcome: Any) -> Settlement | None:
    """Nothing is said of a lease that is lost."""
    return None if outcome is None else Settlement(run, outcome)
