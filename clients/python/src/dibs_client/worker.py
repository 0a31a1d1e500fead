"""Workers: claim jobs, let a handler work on them, extend their leases, and settle them."""

from __future__ import annotations

import asyncio
import json
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from .client import Client, ConnectionFailed, DibsError, backoff, is_temporary, may_be_done
from .job import Ack, Job, JobSignal, Nack, Release, settlement
from .run import Run

Handler = Callable[[Job], Any]
Middleware = Callable[[Job, Callable[[], Any]], Any]
Event = dict[str, Any]

_MOST_ITEMS = 1000
#: Dibs takes 16 MiB in a body. Results and follow-ups may be large.
_MOST_CHARACTERS = 4 << 20
#: How long a handler may take to end after its signal, when the worker stops.
_LAST = 1.0
#: How long the worker then tries to send what is left, and how long it tries to take back a claim.
_FLUSH = 5.0


class _Claim:
    """The request that wants jobs. The same id is sent until an answer comes, so that no lease is lost with an answer."""

    def __init__(self) -> None:
        self.id = str(uuid.uuid4())
        self.sent = 0.0
        self.wait = 0.0
        self.is_repeated = False
        self.is_closed = False
        self.tokens: set[str] = set()


class _Settlement:
    """What a worker has to say of a job that it has done."""

    def __init__(self, run: Run, outcome: Any) -> None:
        self.run = run
        self.verb, self.text = settlement(run.lease, outcome)
        #: It was sent before, and no answer came: it may count already.
        self.is_repeated = False
        #: It goes by itself, because something in a batch was refused.
        self.is_alone = False
        self.failures = 0
        self.not_before = 0.0


class Worker:
    """Claims jobs, lets the handler work on them in threads, extends their leases, and settles them.

        new --run()--> running --stop(), or a refused claim--> stopping --nothing is left, or time is up--> stopped

    Three kinds of request go side by side, at most one of each: a claim that waits for jobs, a settlement of all that is done, and an
    attempt to take back a claim when the worker stops. While no claim waits, a settlement carries one that does not wait: then there
    is one request for each job. `run` looks at what stands, sends what is due, and sleeps until something changes.
    """

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
        name: str | None = None,
        decode: Callable[[str], Any] = json.loads,
        middleware: Sequence[Middleware] = (),
        observe: Callable[[Event], None] | None = None,
    ) -> None:
        if not 1 <= concurrency <= 1000:
            raise ValueError("concurrency must be from 1 to 1000")
        self._client = client
        self._queues = [queues] if isinstance(queues, str) else list(queues)
        self._handler = handler
        for outer in reversed(middleware):
            self._handler = _around(outer, self._handler)
        self._concurrency = concurrency
        self._lease_seconds = lease_seconds
        self._wait_seconds = wait_seconds
        self._stop_seconds = stop_seconds
        self._name = name
        self._decode = decode
        self._observer = observe
        self._changed = threading.Condition()
        self._phase = "new"
        self._runs: set[Run] = set()
        self._outbox: list[_Settlement] = []
        self._claim: _Claim | None = None
        self._is_claiming = self._is_settling = self._carries = self._is_closing = False
        self._claim_failures = self._settle_failures = 0
        self._claim_not_before = self._settle_not_before = 0.0
        self._close_until = 0.0
        self._stops: list[float] = []
        self._deadlines: list[tuple[float, Callable[[], None]]] = []
        self._error: BaseException | None = None

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
            self._close_until = time.monotonic() + _FLUSH
            self._observe({"type": "stopping"})
        self._deadlines += [
            (deadline, lambda: [self._signal(run, "stopping") for run in self._working()] and None),
            (deadline + _LAST, lambda: [self._settle(run, Release()) for run in self._working()] and None),
            (deadline + _LAST + _FLUSH, self._finish),
        ]

    def _finish(self) -> None:
        self._phase = "stopped"

    def _working(self) -> list[Run]:
        return [run for run in self._runs if run.state == "running"]

    def _may_claim(self) -> bool:
        return self._phase == "running" and not self._is_claiming and self._free() > 0

    def _free(self) -> int:
        return self._concurrency - len(self._working())

    def _observe(self, event: Event) -> None:
        if self._observer:
            try:
                self._observer(event)
            except Exception:  # An observer that fails must not stop the work.
                pass

    def _signal(self, run: Run, code: str) -> None:
        if run.signal is None:
            run.signal = code
            self._observe({"type": "signalled", "job": run.lease, "code": code})
            if run.job:
                run.job.signal = code
                run.job.should_end.set()
            self._tell(run)

    def _tell(self, run: Run) -> None:
        """Reaches a handler that does not look at its signal. Threads cannot be reached."""

    def _send(self, request: Callable[[], Any], answered: Callable[[Any, BaseException | None], None]) -> None:
        """Sends in a thread, and tells the answer under the lock."""

        def act() -> None:
            answer, failure = None, None
            try:
                answer = request()
            except (DibsError, ConnectionFailed) as error:
                failure = error
            except Exception as error:
                failure = ConnectionFailed(repr(error))
            with self._changed:
                answered(answer, failure)
                self._changed.notify_all()

        threading.Thread(target=act, daemon=True).start()

    # ---- Claiming

    def _next_claim(self, wait: float) -> tuple[_Claim, dict[str, Any]]:
        """The body of the claim. An unanswered one goes again, with its id."""
        claim = self._claim = self._claim or _Claim()
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
        return claim, body

    def _send_claim(self) -> None:
        self._is_claiming = True
        claim, body = self._next_claim(self._wait_seconds)

        def answered(answer: Any, error: BaseException | None) -> None:
            if not claim.is_closed:
                self._is_claiming = False
            if error is None:
                self._claimed(claim, answer["jobs"])
            elif self._claim is claim:  # If not, it was closed meanwhile.
                self._claim_failed(error)

        self._send(lambda: self._client.claim_jobs(body), answered)  # type: ignore[arg-type]

    def _close(self, claim: _Claim | None) -> None:
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
                self._claimed(claim, answer["jobs"])
                self._close(claim)
            else:
                self._claim_failed(error)

        self._send(lambda: self._client.claim_jobs(body, timeout=_FLUSH), answered)  # type: ignore[arg-type]

    def _claimed(self, claim: _Claim, jobs: list[dict[str, Any]]) -> None:
        if self._claim is claim:
            self._claim = None
        self._claim_failures = 0
        late = time.monotonic() - claim.sent - claim.wait
        fresh = [job for job in jobs if job["lease_token"] not in claim.tokens]
        if fresh:
            self._observe({"type": "claimed", "jobs": fresh})
        for job in fresh:
            claim.tokens.add(job["lease_token"])
            run = Run(job, is_doubtful=claim.is_repeated or late > job["lease_seconds"] / 3)
            self._runs.add(run)
            if self._phase != "running":
                self._settle(run, Release())

    def _claim_failed(self, error: BaseException) -> None:
        if self._claim:
            self._claim.is_repeated = True
        if not is_temporary(error):
            self._close(self._claim)
            self._error = self._error or error
            self._stops.append(time.monotonic() + self._stop_seconds)
            return
        pause = backoff(self._claim_failures, error)
        self._claim_failures += 1
        self._claim_not_before = time.monotonic() + pause
        self._observe({"type": "retrying", "request": "claim", "error": error, "seconds": pause})

    # ---- Working

    def _begin_when_alone(self, run: Run) -> None:
        """A job may come back while its old handler, whose lease is lost, still runs here: the new one waits for the end of that."""
        others = [one for one in self._runs if one is not run and one.id == run.id and one.is_begun]
        if any(not one.ended.is_set() for one in others):
            return
        run.is_begun = True
        if run.signal:
            self._handled(run, _after_signal(run, JobSignal(run.signal)))
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
            run.job.payload = _decoded(self._decode, run.job)
            answer = self._handler(run.job)
            outcome: Any = answer if isinstance(answer, Ack) else Ack(answer)
        except Exception as error:
            failure = error
            outcome = _after_signal(run, error)
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

    def _done(self, run: Run) -> None:
        run.state = "done"
        self._runs.discard(run)

    # ---- Settling

    def _settle(self, run: Run, outcome: Any) -> None:
        run.state = "settling"
        self._outbox.append(_Settlement(run, outcome))

    def _take(self) -> list[_Settlement]:
        """The next batch."""
        now = time.monotonic()
        batch: list[_Settlement] = []
        left: list[_Settlement] = []
        characters = 0
        for one in self._outbox:
            is_full = len(batch) >= _MOST_ITEMS or (
                len(batch) > 0 and (characters + len(one.text) > _MOST_CHARACTERS or one.is_alone or batch[0].is_alone)
            )
            if one.not_before > now or is_full:
                left.append(one)
            else:
                batch.append(one)
                characters += len(one.text)
        self._outbox = left
        return batch

    def _send_settlements(self, with_claim: bool) -> None:
        self._is_settling = True
        batch = self._take()
        lists = {verb: [one for one in batch if one.verb == verb] for verb in ("ack", "nack", "release")}
        members = [f'"{verb}s":[{",".join(one.text for one in items)}]' for verb, items in lists.items() if items]
        claim: _Claim | None = None
        if with_claim:
            self._is_claiming = self._carries = True
            claim, body = self._next_claim(0)
            members.append(f'"claim":{json.dumps(body)}')
        text = "{" + ",".join(members) + "}"

        def answered(answer: Any, error: BaseException | None) -> None:
            self._is_settling = False
            if claim:
                self._is_claiming = self._carries = False
            if error is not None:
                self._batch_failed(batch, error)
                if claim:
                    claim.is_repeated = True
                    if not is_temporary(error) and self._claim is claim:
                        self._claim = None  # What was refused were settlements. The claim goes by itself.
                return
            self._settle_failures = 0
            for verb, items in lists.items():
                results = answer[f"{verb}s"]
                for i, one in enumerate(items):
                    self._answered(one, results[i] if i < len(results) else {"status": 500})
            if claim and answer.get("problem"):
                self._claim_failed(DibsError(answer["problem"]))
            elif claim:
                self._claimed(claim, answer.get("jobs", []))

        self._send(lambda: self._client.request("POST", "/jobs/settle", text), answered)

    def _answered(self, one: _Settlement, result: dict[str, Any]) -> None:
        status = result["status"]
        is_gone = status in (404, 409)
        if status < 300 or (is_gone and one.is_repeated):
            self._done(one.run)
            self._observe({"type": "settled", "job": one.run.lease, "verb": one.verb, "result": result})
        elif is_gone:
            self._done(one.run)
            self._observe({"type": "lost", "job": one.run.lease, "verb": one.verb})
        else:
            error = DibsError({**result.get("problem", {}), "status": status})
            if is_temporary(error):
                one.not_before = time.monotonic() + backoff(one.failures, error)
                one.failures += 1
                self._outbox.append(one)
                self._observe({"type": "retrying", "request": "settle", "error": error})
            else:
                self._refused(one, error)

    def _batch_failed(self, batch: list[_Settlement], error: BaseException) -> None:
        is_bug = isinstance(error, DibsError) and error.status == 500
        for one in batch:
            one.is_repeated = one.is_repeated or may_be_done(error)
            # One of them may be what Dibs refuses, or fails at.
            one.is_alone = one.is_alone or is_bug or not is_temporary(error)
        if is_temporary(error):
            pause = backoff(self._settle_failures, error)
            self._settle_failures += 1
            self._settle_not_before = time.monotonic() + pause
            self._outbox += batch
            self._observe({"type": "retrying", "request": "settle", "error": error, "seconds": pause})
        elif len(batch) > 1:
            self._outbox += batch
        else:
            for one in batch:
                self._refused(one, error)

    def _refused(self, one: _Settlement, error: BaseException) -> None:
        """Dibs never takes this ack: its result is too large, or a follow-up is wrong. To do the work again would not help."""
        self._observe({"type": "refused", "job": one.run.lease, "verb": one.verb, "error": error})
        is_forbidden = isinstance(error, DibsError) and error.status in (401, 403)
        if one.verb == "ack" and not is_forbidden:
            self._settle(one.run, Nack(f"the ack was refused: {error}", retry=False))
        else:
            self._done(one.run)

    # ---- Extending

    def _beat(self, now: float) -> float:
        """Extends the leases that are due, those that are due soon with them. Tells when the next one is."""
        due = [run for run in self._runs if run.beats() and run.due() <= now + run.seconds * 0.03]
        for run in due:
            if run.state == "running" and now > run.lease_ends:
                self._signal(run, "lease_expired")
        # A report that is refused must not spoil the extends of others.
        for run in [one for one in due if one.report]:
            self._extend_and_report(run)
        batch = [run for run in due if not run.extending][:_MOST_ITEMS]
        if batch:
            items = [
                {"id": run.id, "lease_token": run.lease["lease_token"], "lease_seconds": run.seconds} for run in batch
            ]
            body: Any = {"extends": items}
            self._extend(batch, lambda limit: self._client.settle_jobs(body, timeout=limit)["extends"])
        return min([now + 60] + [run.due() for run in self._runs if run.beats()])

    def _extend(self, runs: list[Run], send: Callable[[float], Any]) -> None:
        """A slow answer counts, whenever it comes. Without one, the extend is sent again after a third of the lease: it may be that only
        this request hangs."""
        sent = time.monotonic()
        shortest = min(run.seconds for run in runs)
        for run in runs:
            run.extending = True
            run.turn += 1
        turns = {run: run.turn for run in runs}

        def free() -> None:
            for run in runs:
                if run.turn == turns[run]:
                    run.extending = False

        overdue = (sent + shortest / 3, free)
        self._deadlines.append(overdue)

        def answered(results: Any, error: BaseException | None) -> None:
            if overdue in self._deadlines:
                self._deadlines.remove(overdue)
            for i, run in enumerate(runs):
                if error is None and i < len(results):
                    self._extend_answered(run, results[i], sent)
                elif run.turn == turns[run]:
                    run.failed(error)
            if error is not None:
                self._observe({"type": "retrying", "request": "extend", "error": error})
            free()

        self._send(lambda: send(max(1.0, shortest)), answered)

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
        heard: list[Any] = []
        with self._changed:
            waiting = run.report[1] if run.report else []
            run.report = (value, [*waiting, heard])
            self._changed.notify_all()
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
                answer: Any = self._client.extend_lease(run.id, body, timeout=limit)
                return [{**answer, "status": 200}]
            except (DibsError, ConnectionFailed) as failure:
                if is_temporary(failure) and run.state == "running":
                    with self._changed:
                        newer = run.report or (value, [])
                        run.report = (newer[0], [*waiting, *newer[1]])
                        waiting.clear()
                    raise
                error = failure
                return [{"status": getattr(failure, "status", 500)}]
            except Exception as failure:
                error = failure
                return [{"status": 500}]
            finally:
                for heard in waiting:
                    heard.append(error)

        self._extend([run], send)


class AsyncWorker(Worker):
    """A Worker whose handler is a coroutine function. When a handler should end, its task is cancelled: `job.signal` says why."""

    def __init__(self, client: Client, queues: Sequence[str], handler: Callable[[Job], Awaitable[Any]], **options: Any) -> None:
        super().__init__(client, queues, handler, **options)
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(self) -> None:  # type: ignore[override]
        self._loop = asyncio.get_running_loop()
        await asyncio.to_thread(super().run)

    async def progress(self, job: Job, value: Any) -> None:
        """`job.progress` for coroutines."""
        await asyncio.to_thread(job.progress, value)

    def _begin(self, run: Run) -> None:
        assert self._loop

        def start() -> None:
            run.task = asyncio.ensure_future(self._work_async(run))

        self._loop.call_soon_threadsafe(start)

    def _tell(self, run: Run) -> None:
        if self._loop:
            self._loop.call_soon_threadsafe(lambda: run.task and run.task.cancel())

    async def _work_async(self, run: Run) -> None:
        assert run.job
        began = time.monotonic()
        self._observe({"type": "started", "job": run.lease})
        failure: BaseException | None = None
        try:
            run.job.payload = _decoded(self._decode, run.job)
            answer = await self._handler(run.job)
            outcome: Any = answer if isinstance(answer, Ack) else Ack(answer)
        except asyncio.CancelledError as error:
            failure = error
            outcome = _after_signal(run, JobSignal(run.signal)) if run.signal else Release()
        except Exception as error:
            failure = error
            outcome = _after_signal(run, error)
        self._over(run, outcome, began, failure)


def _around(outer: Middleware, inner: Handler) -> Handler:
    return lambda job: outer(job, lambda: inner(job))


def _decoded(decode: Callable[[str], Any], job: Job) -> Any:
    try:
        return decode(job.payload_text)
    except (Exception, RecursionError) as error:
        raise Nack(f"the payload cannot be decoded: {error!r}") from error


def _after_signal(run: Run, error: BaseException) -> Any:
    """What a handler raises after its signal is no failure of the job, unless it says so itself."""
    if run.signal == "lease_lost":
        return None
    if run.signal is None or isinstance(error, (Nack, Release)):
        return error
    if run.signal == "cancel_requested":
        return Nack("cancelled" if isinstance(error, JobSignal) else repr(error))
    return Release()
