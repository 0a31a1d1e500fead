"""The driver of the Python library for the conformance suite. See clients/conformance/README.md. `--async` drives AsyncWorker."""

import asyncio
import inspect
import json
import math
import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "src"))
from dibs_client import Ack, AsyncProducer, AsyncWorker, Client, Job, Nack, Producer, Release, Worker  # noqa: E402
from odd_ends import ASYNC_ODD_ENDS, ODD_ENDS  # noqa: E402

IS_ASYNC = "--async" in sys.argv
out = threading.Lock()


def unlocked_in_child() -> None:
    """A fork copies the lock as it is, and not the thread that holds it."""
    global out
    out = threading.Lock()


os.register_at_fork(after_in_child=unlocked_in_child)
workers: dict[str, "Driven"] = {}


def say(event: dict[str, Any]) -> None:
    """Nothing waits in a buffer: a forked child would say it, too."""
    line = json.dumps(event).encode() + b"\n"
    with out:
        while line:
            line = line[os.write(1, line) :]


def said(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


def decode(text: str) -> Any:
    if "undecodable" in text:
        raise ValueError("the driver does not read this")
    return json.loads(text)


def failure(script: dict[str, Any]) -> BaseException:
    if script.get("dead") or "delay_seconds" in script:
        return Nack(script["fail"], retry=not script.get("dead"), delay_seconds=script.get("delay_seconds"))
    error = inner = RuntimeError(script["fail"])
    for text in script.get("causes", []):
        inner.__cause__ = RuntimeError(text)
        inner = inner.__cause__
    if script.get("circle"):
        inner.__cause__ = error
    return error


def end(job: Job, script: dict[str, Any]) -> Any:
    if "odd" in script:
        return ODD_ENDS[script["odd"]]()
    if "fail" in script:
        raise failure(script)
    if script.get("release"):
        raise Release(script.get("delay_seconds"))
    result = "x" * script["large_result"] if "large_result" in script else script.get("result")
    follow_ups = [script["follow_up"]] if "follow_up" in script else []
    if "in_batch" in script:
        follow_ups.append({**script["in_batch"], "batch": job.batch})
    return Ack(result, follow_ups) if follow_ups else result


def begin(as_: str, job: Job) -> dict[str, Any]:
    facts = {"attempt": job.attempt, "deliveries": job.deliveries, "headers": job.headers}
    more = {"payload_text": job.payload_text, "progress": job.last_progress}
    say({"event": "started", "as": as_, "id": job.id, **facts, **more})
    return job.payload or {}


def handler_of(as_: str) -> Any:
    def handle(job: Job) -> Any:
        script = begin(as_, job)
        try:
            for value in script.get("progress", []):
                job.progress(value)
            seconds = script.get("ms", 0) / 1000
            if script.get("ignore_signal"):
                time.sleep(seconds)
            else:
                job.sleep(seconds)
            if "stop" in script:
                workers[as_].worker.stop()
            if script.get("stop") == "wait":
                workers[as_].over.wait()
            return end(job, script)
        finally:
            say({"event": "finished", "as": as_, "id": job.id})

    async def handle_async(job: Job) -> Any:
        script = begin(as_, job)
        try:
            for value in script.get("progress", []):
                await workers[as_].worker.progress(job, value)  # type: ignore[attr-defined]
            until = time.monotonic() + script.get("ms", 0) / 1000
            while time.monotonic() < until:
                try:
                    await asyncio.sleep(until - time.monotonic())
                except asyncio.CancelledError:
                    if not script.get("ignore_signal"):
                        raise
            if "stop" in script:
                workers[as_].worker.stop()
            while script.get("stop") == "wait" and not workers[as_].over.is_set():
                await asyncio.sleep(0.05)
            if script.get("odd") in ASYNC_ODD_ENDS:
                return await ASYNC_ODD_ENDS[script["odd"]]()
            return end(job, script)
        finally:
            say({"event": "finished", "as": as_, "id": job.id})

    return handle_async if IS_ASYNC else handle


def key_of(given: Any) -> Any:
    """A list says what a key function does at each of its calls, the last one for all that follow."""
    if not isinstance(given, list):
        return given
    calls = iter(range(len(given) - 1))

    def key() -> str:
        step = given[next(calls, -1)]
        if "fail" in step:
            raise RuntimeError(step["fail"])
        if "hang" in step:
            threading.Event().wait()
        return step["key"]

    return key


def seconds_of(given: Any) -> Any:
    return math.inf if given == "forever" else given


def client_of(command: dict[str, Any]) -> Client:
    given = {"timeout": seconds_of(command["timeout_seconds"])} if "timeout_seconds" in command else {}
    return Client(command["url"], key=key_of(command.get("key")), key_file=command.get("key_file"), **given)


class Driven:
    """A worker, and how it is told what to do."""

    def __init__(self, command: dict[str, Any]) -> None:
        self.as_ = command["as"]
        self.stop_on = command.get("stop_on")
        self.over = threading.Event()
        self.cancel: Any = lambda: None
        names = ("concurrency", "lease_seconds", "wait_seconds", "stop_seconds", "session", "resume_seconds", "name")
        options = {name: seconds_of(command[name]) for name in names if command.get(name) is not None}
        self.worker = (AsyncWorker if IS_ASYNC else Worker)(
            client_of(command), command["queues"], handler_of(self.as_), decode=decode, observe=self.observe, **options
        )
        if command.get("stop_first"):
            self.worker.stop()

    def observe(self, event: dict[str, Any]) -> None:
        kind = event["type"]
        if kind == "signalled":
            say({"event": "signal", "as": self.as_, "id": event["job"]["id"], "code": event["code"]})
        if kind == "retrying":
            say({"event": kind, "as": self.as_, "text": said(event["error"])})
        if kind == "refused":
            say({"event": kind, "as": self.as_, "id": event["job"]["id"], "text": said(event["error"])})
        if kind == self.stop_on:
            self.stop_on = None
            self.worker.stop()

    def run(self, *, until_signal: bool = False) -> None:
        run = self.worker.run_until_signal if until_signal else self.worker.run
        try:
            if IS_ASYNC:
                asyncio.run(self.run_async(run))
            else:
                run()
                say({"event": "stopped", "as": self.as_})
        except Exception as error:
            say({"event": "failed", "as": self.as_, "code": getattr(error, "code", repr(error)), "text": said(error)})
        finally:
            self.over.set()

    async def run_async(self, run: Any) -> None:
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(run())
        self.cancel = lambda: loop.call_soon_threadsafe(task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            pass
        # Before the loop ends: it waits for handlers that ignore that they were cancelled.
        self.over.set()
        say({"event": "stopped", "as": self.as_})


def start(command: dict[str, Any]) -> None:
    try:
        driven = workers[command["as"]] = Driven(command)
    except ValueError as error:
        say({"event": "failed", "as": command["as"], "code": "config", "text": said(error)})
        return
    if command.get("until_signal"):  # In the main thread, and then the process ends.
        threading.Thread(target=hear_kill, daemon=True).start()
        driven.run(until_signal=True)
    else:
        threading.Thread(target=driven.run, daemon=True).start()


def enqueue(command: dict[str, Any]) -> None:
    try:
        producer = Producer(client_of(command), retry_seconds=seconds_of(command.get("retry_seconds", 10)))
    except ValueError as error:
        say({"event": "failed", "as": command["as"], "code": "config", "text": said(error)})
        return
    try:
        jobs = command["jobs"]
        made = [producer.enqueue(jobs[0])] if len(jobs) == 1 else producer.enqueue_all(jobs)
        say({"event": "enqueued", "as": command["as"], "ids": [job["id"] for job in made]})
    except Exception as error:
        say({"event": "failed", "as": command["as"], "code": getattr(error, "code", repr(error)), "text": said(error)})


async def with_batch(producer: Any, command: dict[str, Any]) -> dict[str, Any]:
    """By a Producer or an AsyncProducer."""

    async def done(answer: Any) -> Any:
        return await answer if inspect.isawaitable(answer) else answer

    batch = await done(producer.batch(**command["batch"]) if "batch" in command else producer.batch_by_id(command["id"]))
    say({"event": "made", "as": command["as"], "id": batch.id})
    add = command.get("add", [])
    if len(add) == 1:
        await done(batch.add(add[0]))
    elif add:
        await done(batch.add_all(add))
    if command.get("close"):
        await done(batch.close())
    if command.get("cancel"):
        await done(batch.cancel())
    seconds = command.get("wait_seconds")
    return await done(batch.get() if seconds is None else batch.wait(seconds))


def make_batch(command: dict[str, Any]) -> None:
    try:
        producer = (AsyncProducer if IS_ASYNC else Producer)(client_of(command), retry_seconds=10)
        found = asyncio.run(with_batch(producer, command))
        facts = {name: found[name] for name in ("id", "state", "counts")}
        say({"event": "batch", "as": command["as"], **facts})
    except Exception as error:
        say({"event": "failed", "as": command["as"], "code": getattr(error, "code", repr(error)), "text": said(error)})


def kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def hear_kill() -> None:
    """While the main thread runs the worker. Not by sys.stdin: its lock would be held when the process ends."""
    while text := os.read(0, 65_536):
        if b'"kill"' in text:
            kill()


for line in sys.stdin:
    order = json.loads(line)
    if order["do"] == "start":
        start(order)
        if order.get("until_signal"):
            break
    elif order["do"] == "kill":
        kill()
    elif order["do"] == "enqueue":
        threading.Thread(target=enqueue, args=[order], daemon=True).start()
    elif order["do"] == "batch":
        threading.Thread(target=make_batch, args=[order], daemon=True).start()
    elif order["do"] == "odd_ends":
        say({"event": "odd_ends", "as": order["as"], "names": [*ODD_ENDS, *(ASYNC_ODD_ENDS if IS_ASYNC else [])]})
    elif order["as"] in workers:
        driven = workers[order["as"]]
        if order["do"] == "cancel":
            driven.cancel()
        else:
            driven.worker.stop(order.get("seconds"))
