export type { Caller, CallOptions } from './caller.ts';
export { Client, type ClientOptions } from './client.ts';
export { ConnectionError, DibsError } from './errors.ts';
export { JobSignal, type Observer, type SignalCode, type WorkerEvent } from './events.ts';
export * from './generated.ts';
export type { Handler, Job as WorkerJob, Middleware } from './job.ts';
export { Ack, Nack, Release } from './outcome.ts';
export { type EnqueueOptions, Producer, type ProducerOptions } from './producer.ts';
export { Worker, type WorkerOptions } from './worker.ts';
