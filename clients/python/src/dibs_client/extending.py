"""Keeps the leases of a worker."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .answers import extended_of, results_of
from .errors import ConnectionFailed, DibsError, passes
from .job import JobSignal
from .run import Run
from .state import MOST_ITEMS, WorkerState


#: An extend that has no answer yet is sent again: after an outage, leases must be extended within 5 s.
PATIENCE = 2.0
#: Dibs answers within 5 s.
LONGEST_REQUEST = 10.0


class Extending(WorkerState):
    """Extends the leases of the runs: each at a third of its length, those that are due soon together."""

    def _beat(self, now: float) -> float:
        """Extends the leases that are due, those that are due soon with them. Tells when the next one is."""
        due = [run for run in self._runs if run.beats() and run.due() <= now + run.seconds * 0.03]
        for run in due:
            if run.state == "running" and now > run.lease_ends:
                self._signal(run, "lease_expired")
        # A report that is refused must not spoil the extends of others.
        for run in [one for one in due if one.report]:
            self._extend_and_report(run)
        batch = [run for run in due if not run.extending][:MOST_ITEMS]
        if batch:
            items = [
                {"id": run.id, "lease_token": run.lease["lease_token"], "lease_seconds": run.seconds} for run in batch
            ]
            body: Any = {"extends": items}
            self._extend(batch, lambda limit: results_of(self._client.settle_jobs(body, timeout=limit), "extends", len(items)))
        return min([now + 60] + [run.due() for run in self._runs if run.beats()])

    def _extend(self, runs: list[Run], send: Callable[[float], Any]) -> None:
        """A slow answer counts. Without one, the extend is sent again soon: it may be that only this request hangs."""
        sent = time.monotonic()
        shortest = min(run.seconds for run in runs)
        for run in runs:
            run.extending = True
            run.is_in_doubt = False
            run.turn += 1
        turns = {run: run.turn for run in runs}

        def free() -> None:
            for run in runs:
                if run.turn == turns[run]:
                    run.extending = False

        overdue = (sent + min(shortest / 3, PATIENCE), free)
        self._overdue.append(overdue)

        def answered(results: Any, error: BaseException | None) -> None:
            if overdue in self._overdue:
                self._overdue.remove(overdue)
            for i, run in enumerate(runs):
                if error is None:
                    self._extend_answered(run, results[i], sent)
                elif run.turn == turns[run]:
                    run.failed(error)
            if error is not None:
                self._observe({"type": "retrying", "request": "extend", "error": error})
            free()

        self._send(lambda: send(max(1.0, min(shortest, LONGEST_REQUEST))), answered)

    def _extend_answered(self, run: Run, result: Any, sent: float) -> None:
        status = result["status"]
        if status == 200:
            run.extended(sent)
            if result.get("cancel_requested") and run.state == "running":
                self._signal(run, "cancel_requested")
        elif status in (404, 409):
            run.lost = True
            if run.state == "running":
                self._signal(run, "lease_lost")
        else:
            run.failed(None)

    def _report(self, run: Run, value: Any) -> None:
        if self._is_child():
            raise RuntimeError("progress can be told only by the process of the worker")
        heard: list[Any] = []
        with self._changed:
            waiting = run.report[1] if run.report else []
            run.report = (value, [*waiting, heard])
            self._has_changed()
            self._changed.wait_for(lambda: heard or run.signal or run.state != "running" or self._phase == "stopped")
        if heard and heard[0] is not None:
            raise heard[0]
        if not heard and run.signal:
            raise JobSignal(run.signal)

    def _extend_and_report(self, run: Run) -> None:
        assert run.report
        value, waiting = run.report
        run.report = None

        def send(limit: float) -> Any:
            error: BaseException | None = None
            body: Any = {"lease_token": run.lease["lease_token"], "lease_seconds": run.seconds, "progress": value}
            try:
                return [extended_of(self._client.extend_lease(run.id, body, timeout=limit))]
            except BaseException as failure:
                is_lost = isinstance(failure, DibsError) and failure.code in ("job_not_found", "lease_lost")
                is_told = not isinstance(failure, (DibsError, ConnectionFailed)) or not passes(failure, "settle")
                if not is_told and run.state == "running":
                    with self._changed:
                        newer = run.report or (value, [])
                        run.report = (newer[0], [*waiting, *newer[1]])
                        waiting.clear()
                    raise
                error = failure
                return [{"status": 409 if is_lost else 500}]
            finally:
                for heard in waiting:
                    heard.append(error)

        self._extend([run], send)
