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

/** What is known of a messaging span. */
export interface Message {
  type?: Operation | undefined;
  /** The verb, in the words of Dibs. */
  verb: string;
  /** All queues that it is about. A span names one queue, or none. */
  queues: Iterable<string | undefined>;
  /** The id of the job, if it is about one. */
  id?: string | undefined;
  /** How many jobs it is about, if it may be about several. */
  count?: number | undefined;
  /** The name of the worker, where the request tells it. */
  worker?: string | undefined;
}

export function onlyQueue(queues: Iterable<string | undefined>): string | undefined {
  const names = new Set(queues);
  return names.size === 1 ? [...names][0] : undefined;
}

export function nameOf({ verb, queues }: Message): string {
  const queue = onlyQueue(queues);
  return queue === undefined ? verb : `${verb} ${queue}`;
}

/** Undefined attributes are left out. */
const known = (attributes: Record<string, string | number | undefined>): Attributes =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));

export const attributesOf = ({ type, verb, queues, id, count, worker }: Message): Attributes =>
  known({
    'messaging.system': 'dibs',
    'messaging.operation.name': verb,
    'messaging.operation.type': type === 'sendMany' ? 'send' : type,
    'messaging.destination.name': onlyQueue(queues),
    'messaging.message.id': id,
    'messaging.batch.message_count': count,
    'messaging.client.id': worker,
  });

export const statementAttributes = ({ name, rows, waitedMs, failed }: Ran): Attributes =>
  known({
    'db.system.name': 'postgresql',
    'db.query.summary': name,
    'db.response.returned_rows': name === 'commit' ? undefined : rows,
    'dibs.connection.wait_ms': Math.round(waitedMs * 10) / 10,
    'error.type': failed ? '_OTHER' : undefined,
  });
