"""The driver of the Python library for the conformance suite. See clients/conformance/README.md. `--async` drives AsyncWorker."""

import asyncio
import json
import sys
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "src"))
from dibs_client import Ack, AsyncWorker, Client, Job, JobSignal, Nack, Producer, Release, Worker  # noqa: E402

IS_ASYNC = "--async" in sys.argv
out = threading.Lock()
workers: dict[str, Worker] = {}


def say(event: dict[str, Any]) -> None:
    with out:
        print(json.dumps(event), flush=True)


def decode(text: str) -> Any:
    if "undecodable" in text:
        raise ValueError("the driver does not read this")
    return json.loads(text)


def end(script: dict[str, Any]) -> Any:
    if "fail" in script:
        if not script.get("dead") and "delay_seconds" not in script:
            raise RuntimeError(script["fail"])
        raise Nack(script["fail"], retry=not script.get("dead"), delay_seconds=script.get("delay_seconds"))
    if script.get("release"):
        raise Release(script.get("delay_seconds"))
    result = "x" * script["large_result"] if "large_result" in script else script.get("result")
    return Ack(result, [script["follow_up"]]) if "follow_up" in script else result


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
            return end(script)
        finally:
            say({"event": "finished", "as": as_, "id": job.id})

    async def handle_async(job: Job) -> Any:
        script = begin(as_, job)
        try:
            for value in script.get("progress", []):
                await asyncio.to_thread(job.progress, value)
            until = time.monotonic() + script.get("ms", 0) / 1000
            while time.monotonic() < until:
                try:
                    await asyncio.sleep(until - time.monotonic())
                except asyncio.CancelledError:
                    if not script.get("ignore_signal"):
                        raise
            return end(script)
        finally:
            say({"event": "finished", "as": as_, "id": job.id})

    return handle_async if IS_ASYNC else handle


def start(command: dict[str, Any]) -> None:
    as_ = command["as"]

    def observe(event: dict[str, Any]) -> None:
        if event["type"] == "signalled":
            say({"event": "signal", "as": as_, "id": event["job"]["id"], "code": event["code"]})

    names = ("concurrency", "lease_seconds", "wait_seconds", "stop_seconds", "name")
    options = {name: command[name] for name in names if command.get(name) is not None}
    kind = AsyncWorker if IS_ASYNC else Worker
    worker = kind(Client(command["url"]), command["queues"], handler_of(as_), decode=decode, observe=observe, **options)
    workers[as_] = worker

    async def run_async() -> None:
        await worker.run()  # type: ignore[func-returns-value]
        # Before the loop ends: it waits for handlers that ignore that they were cancelled.
        say({"event": "stopped", "as": as_})

    def run() -> None:
        try:
            if IS_ASYNC:
                asyncio.run(run_async())
            else:
                worker.run()
                say({"event": "stopped", "as": as_})
        except Exception as error:
            say({"event": "failed", "as": as_, "code": getattr(error, "code", repr(error))})

    threading.Thread(target=run, daemon=True).start()


def enqueue(command: dict[str, Any]) -> None:
    producer = Producer(Client(command["url"]), retry_seconds=10)
    try:
        jobs = command["jobs"]
        made = [producer.enqueue(jobs[0])] if len(jobs) == 1 else producer.enqueue_all(jobs)
        say({"event": "enqueued", "as": command["as"], "ids": [job["id"] for job in made]})
    except Exception as error:
        say({"event": "failed", "as": command["as"], "code": getattr(error, "code", repr(error))})


for line in sys.stdin:
    order = json.loads(line)
    if order["do"] == "start":
        start(order)
    elif order["do"] == "enqueue":
        threading.Thread(target=enqueue, args=[order], daemon=True).start()
    elif order["as"] in workers:
        workers[order["as"]].stop(order.get("seconds"))
