#!/usr/bin/env python3
"""A worker with the standard library only. It does 20 jobs and settles them together. SIGTERM stops it."""
import hashlib
import json
import os
import signal
import sys
import time
import urllib.error
import urllib.request

URL = os.environ.get("DIBS_URL", "http://127.0.0.1:8080")
QUEUE = os.environ.get("QUEUE", "checksums")
WORKER = os.environ.get("WORKER", f"python-{os.getpid()}")
LEASE_SECONDS = float(os.environ.get("LEASE_SECONDS", 30))

stopping = False
claiming = False


def stop(*_):
    """Ends a waiting claim by hanging up: it gets no job. The worker finishes the jobs that it has first."""
    global stopping
    stopping = True
    if claiming:
        sys.exit(0)


def post(path, body):
    """Tries again at 429, 503 and while the service is away. Acks may be sent twice. A lost claim's leases run out."""
    request = urllib.request.Request(URL + path, json.dumps(body).encode(), {"content-type": "application/json"})
    while True:
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return json.load(response)
        except urllib.error.HTTPError as error:
            if error.code not in (429, 503):
                sys.exit(f"{WORKER}: {path} was refused: {error.read().decode()}")
            seconds = float(error.headers.get("retry-after", 1))
        except OSError as error:
            print(f"{WORKER}: trying again: {error}", file=sys.stderr)
            seconds = 1
        time.sleep(seconds)


def claim():
    global claiming
    claiming = True
    body = {"queues": [QUEUE], "worker": WORKER, "limit": 20, "lease_seconds": LEASE_SECONDS, "wait_seconds": 20}
    jobs = post("/jobs/claim", body)["jobs"]
    claiming = False
    return jobs


def sha256(path):
    digest = hashlib.sha256()
    with open(path.encode(), "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def work(jobs):
    acks, nacks = [], []
    for job in jobs:
        lease = {"id": job["id"], "lease_token": job["lease_token"]}
        try:
            acks.append({**lease, "result": {"sha256": sha256(job["payload"]["path"])}})
        except OSError as error:
            nacks.append({**lease, "error": str(error), "retry": False})
    answer = post("/jobs/settle", {"acks": acks, "nacks": nacks})
    for item in answer["acks"] + answer["nacks"]:
        if item["status"] in (404, 409):  # The lease was lost meanwhile: another worker has the job.
            print(f"{WORKER}: too late for {item['id']}", file=sys.stderr)
        elif item["status"] != 200:
            sys.exit(f"{WORKER}: {item['id']} was refused: {item['problem']}")


signal.signal(signal.SIGTERM, stop)
signal.signal(signal.SIGINT, stop)
while not stopping:
    if jobs := claim():
        work(jobs)
