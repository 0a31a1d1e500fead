"""Workers and producers for Dibs, a durable job queue behind a REST API."""

from .async_worker import AsyncWorker
from .batch import AsyncBatchHandle, BatchHandle
from .client import Client
from .errors import ConnectionFailed, DibsError
from .job import Ack, Job, JobSignal, Nack, Release
from .producer import AsyncProducer, Producer
from .worker import Worker

__all__ = [
    "Ack",
    "AsyncBatchHandle",
    "AsyncProducer",
    "AsyncWorker",
    "BatchHandle",
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
