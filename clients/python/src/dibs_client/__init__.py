"""Workers and producers for Dibs, a durable job queue behind a REST API."""

from .async_worker import AsyncWorker
from .client import Client
from .errors import ConnectionFailed, DibsError
from .job import Ack, Job, JobSignal, Nack, Release
from .producer import AsyncProducer, Producer
from .worker import Worker

__all__ = [
    "Ack",
    "AsyncProducer",
    "AsyncWorker",
    "Client",
    "ConnectionFailed",
    "DibsError",
    "Job",
    "JobSignal",
    "Nack",
    "Producer",
    "Release",
    "Worker",
]
