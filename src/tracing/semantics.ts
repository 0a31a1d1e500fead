import { type Attributes, SpanKind } from '@opentelemetry/api';
import type { Ran } from '../askers.ts';

/*
 * The names of OpenTelemetry's semantic conventions (messaging and database), as far as Dibs uses them. They change now and
 * then, and come in a package of 10 MB. So they stand here.
 */

export const KINDS = {
  create: SpanKind.PRODUCER,
  send: SpanKind.PRODUCER,
  /** It is no producer: each of the jobs has a span of its own, and that is one. */
  sendMany: SpanKind.CLIENT,
  receive: SpanKind.CLIENT,
  settle: SpanKind.CLIENT,
  /** A request that is about no message. */
  other: SpanKind.SERVER,
} as const;
export const STATEMENT = SpanKind.CLIENT;
export type Operation = Exclude<keyof typeof KINDS, 'other'>;

/** The convention has no name for it. */
export const BATCH_ID = 'dibs.batch.id';

/** What is known of a messaging span. */
export interface Message {
  type?: Operation | undefined;
  /** The verb, in the words of Dibs. */
  verb: string;
  /** All queues that it is about. A span names one queue, or none. */
  queues: Iterable<string | undefined>;
  /** The id of the job, if it is about one. */
  id?: string | undefined;
  /** The batches of the jobs. A span names one, or none. */
  batches?: Iterable<string | null | undefined> | undefined;
  /** How many jobs it is about, if it may be about several. */
  count?: number | undefined;
  /** The name of the worker, where the request tells it. */
  worker?: string | undefined;
}

export function only<T>(all: Iterable<T>): T | undefined {
  const distinct = new Set(all);
  return distinct.size === 1 ? [...distinct][0] : undefined;
}

export function nameOf({ verb, queues }: Message): string {
  const queue = only(queues);
  return queue === undefined ? verb : `${verb} ${queue}`;
}

/** Undefined attributes are left out. */
const known = (attributes: Attributes): Attributes =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));

export const batchAttributes = ({ batches = [] }: Message): Attributes =>
  known({ [BATCH_ID]: only(batches) ?? undefined });

export function attributesOf(message: Message): Attributes {
  const { type, verb, queues, id, count, worker } = message;
  return known({
    'messaging.system': 'dibs',
    'messaging.operation.name': verb,
    'messaging.operation.type': type === 'sendMany' ? 'send' : type,
    'messaging.destination.name': only(queues),
    'messaging.message.id': id,
    'messaging.batch.message_count': count,
    'messaging.client.id': worker,
    ...batchAttributes(message),
  });
}

export const statementAttributes = ({ name, rows, waitedMs, failed }: Ran): Attributes =>
  known({
    'db.system.name': 'postgresql',
    'db.query.summary': name,
    'db.response.returned_rows': name === 'commit' ? undefined : rows,
    'dibs.connection.wait_ms': Math.round(waitedMs * 10) / 10,
    'error.type': failed ? '_OTHER' : undefined,
  });
