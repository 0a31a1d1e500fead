"""Keeps the leases of a worker."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from .answers import extended_of, results_of
from .errors import ConnectionFailed, DibsError, passes
from .job import JobSignal
from .run import Run, pause_after
from .state import MOST_ITEMS, WorkerState


#: An extend that has no answer yet is sent again: after an outage, leases must be extended within 5 s.
PATIENCE = 2.0
#: Dibs answers within 5 s.
LONGEST_REQUEST = 10.0


class Extending(WorkerState):
    """Extends the leases of the runs: each at a third of its length, those that are due soon together."""

    def _beat(self, now: float) -> float:
        """Extends the leases that are due, those that are due soon with them. Tells when the next one is."""
        due = [run for run in self._runs if run.beats() and run.is_near(now)]
        for run in due:
            if run.state == "running" and now > run.lease_ends:
                self._signal(run, "lease_expired")
        batch = [run for run in due if not run.report][:MOST_ITEMS]
        # A report that is refused must not spoil the extends of others.
        for run in [one for one in due if one.report]:
            self._extend_and_report(run)
        if batch:
            items = [
                {"id": run.id, "lease_token": run.lease["lease_token"], "lease_seconds": run.seconds} for run in batch
            ]
            body: Any = {"extends": items}
            self._extend(batch, lambda limit: results_of(self._client.settle_jobs(body, timeout=limit), "extends", len(items)))
        return min([now + 60] + [run.due() for run in self._runs if run.beats()])

    def _extend(
        self, runs: list[Run], send: Callable[[float], Any], told: Callable[[BaseException | None], None] | None = None
    ) -> None:
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
            if error is None:
                self._failed([run for run, result in zip(runs, results) if not self._is_known(run, result, sent)], None)
            else:
                self._failed([run for run in runs if run.turn == turns[run]], error)
                self._observe({"type": "retrying", "request": "extend", "error": error})
            if told:
                told(error)
            free()

        self._send(lambda: send(max(1.0, min(shortest, LONGEST_REQUEST))), answered)

    def _failed(self, runs: list[Run], error: BaseException | None) -> None:
        """They have one pause, so that they go together again."""
        now, pause = time.monotonic(), pause_after(max((run.failures for run in runs), default=0), error)
        for run in runs:
            run.failed(now, pause)

    def _is_known(self, run: Run, result: Any, sent: float) -> bool:
        """Whether the answer says what became of the lease."""
        status = result["status"]
        if status == 200:
            run.extended(sent)
            if result.get("cancel_requested") and run.state == "running":
                self._signal(run, "cancel_requested")
        elif status in (404, 409):
            run.lost = True
            if run.state == "running":
                self._signal(run, "lease_lost")
        return status in (200, 404, 409)

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
        body: Any = {"lease_token": run.lease["lease_token"], "lease_seconds": run.seconds, "progress": value}
        refusal: BaseException | None = None

        def send(limit: float) -> Any:
            nonlocal refusal
            try:
                return [extended_of(self._client.extend_lease(run.id, body, timeout=limit))]
            except BaseException as error:
                if isinstance(error, (DibsError, ConnectionFailed)) and passes(error, "settle"):
                    raise
                refusal = error
                is_lost = isinstance(error, DibsError) and error.code in ("job_not_found", "lease_lost")
                return [{"status": 409 if is_lost else 500}]

        def told(error: BaseException | None) -> None:
            if error is not None and run.state == "running":
                newest = run.report or (value, [])
                run.report = (newest[0], [*waiting, *newest[1]])
                return
            for heard in waiting:
                heard.append(error or refusal)

        self._extend([run], send, told)
