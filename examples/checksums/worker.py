#!/usr/bin/env python3
"""A worker in Python with the library: 10 jobs side by side, each in a thread. SIGTERM stops it."""
import hashlib
import os
import sys
from pathlib import Path

# In a project of yours: `pip install` the folder clients/python.
sys.path.insert(0, str(Path(__file__).parents[2] / "clients/python/src"))
from dibs_client import Client, Nack, Worker


def sha256(job):
    try:
        with open(job.payload["path"].encode(), "rb") as file:
            return {"sha256": hashlib.file_digest(file, "sha256").hexdigest()}
    except OSError as error:
        raise Nack(str(error), retry=False)


worker = Worker(
    Client(os.environ.get("DIBS_URL", "http://127.0.0.1:8080")),
    [os.environ.get("QUEUE", "checksums")],
    sha256,
    lease_seconds=float(os.environ.get("LEASE_SECONDS", 30)),
    name=os.environ.get("WORKER", f"python-{os.getpid()}"),
)
worker.run_until_signal()
