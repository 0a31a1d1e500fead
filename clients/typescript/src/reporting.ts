import { messageOf } from './errorText.ts';
import type { Observer, WorkerEvent } from './events.ts';
import type { LeasedJob } from './generated.ts';

/** Where a worker says what went wrong. `console` is one. */
export interface Logger {
  error(message: string, fields: Fields): void;
  warn(message: string, fields: Fields): void;
}
type Fields = Record<string, unknown>;

/** What is said of an event. No payload, no header and no key is in it. */
export interface Line {
  level: keyof Logger;
  message: string;
  fields: Fields;
}

/** How long a line about requests that fail keeps the next ones back. */
const REST_MS = 10_000;
const MOST_START = 300;
const MOST_END = 700;

/** One line. The reason of a long text stands at its end, as in the traceback of a program. */
export function oneLine(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim();
  if (line.length <= MOST_START + MOST_END) return line;
  return `${line.slice(0, MOST_START)} … ${line.slice(-MOST_END)}`;
}

const named = ({ id, queue }: LeasedJob) => `job ${id} of queue ${queue}`;
const fieldsOf = ({ id, queue, attempt }: LeasedJob): Fields => ({ job: id, queue, attempt });

function nextOf({ next, retryInSeconds }: Extract<WorkerEvent, { type: 'failed' }>): string {
  if (next === 'dead') return 'is dead';
  return `is tried again ${retryInSeconds === undefined ? 'after its backoff' : `in ${retryInSeconds} s`}`;
}

/** What is to be said of an event, if anything. */
export function lineOf(event: WorkerEvent): Line | undefined {
  if (event.type === 'failed' && event.next !== 'cancelled') {
    const { job, reason } = event;
    const next = nextOf(event);
    const message = `${named(job)} failed at attempt ${job.attempt} of ${job.max_attempts} and ${next}: ${reason}`;
    return {
      level: 'error',
      message,
      fields: { ...fieldsOf(job), max_attempts: job.max_attempts, error: reason, next },
    };
  }
  if (event.type === 'signalled' && event.code.startsWith('lease_')) {
    const why = event.code === 'lease_lost' ? 'is lost' : 'was not extended in time';
    const message = `the lease of ${named(event.job)} ${why}: another worker may have the job`;
    return { level: 'warn', message, fields: { ...fieldsOf(event.job), code: event.code } };
  }
  if (event.type === 'lost' && event.verb) {
    const message = `the ${event.verb} of ${named(event.job)} came after its lease: it does not count`;
    return { level: 'warn', message, fields: { ...fieldsOf(event.job), verb: event.verb } };
  }
  if (event.type === 'refused') {
    const error = oneLine(messageOf(event.error));
    const message = `the ${event.verb} of ${named(event.job)} was refused: ${error}`;
    return { level: 'warn', message, fields: { ...fieldsOf(event.job), verb: event.verb, error } };
  }
  if (event.type === 'retrying') {
    const { request, seconds } = event;
    const error = oneLine(messageOf(event.error));
    const message = `the ${request} failed, and is tried again in ${seconds.toFixed(1)} s: ${error}`;
    return { level: 'warn', message, fields: { request, error } };
  }
  return undefined;
}

const OWN: Logger = {
  error: (message) => console.error(`dibs: ${message}`),
  warn: (message) => console.warn(`dibs: ${message}`),
};

/** Says what went wrong. While requests fail, it says so now and then. */
function reporter(logger: Logger): Observer {
  let restsUntil = 0;
  return (event) => {
    if (event.type === 'retrying') {
      const now = performance.now();
      if (now < restsUntil) return;
      restsUntil = now + REST_MS;
    }
    const line = lineOf(event);
    return line && logger[line.level](line.message, line.fields);
  };
}

/** Tells the logger and the observer. One that fails, now or later, must not stop the work. */
export function observerOf({
  logger = OWN,
  observe,
}: {
  logger?: Logger | null;
  observe?: Observer;
}): Observer {
  const all = [logger ? reporter(logger) : undefined, observe].filter((one) => one !== undefined);
  return (event) => {
    for (const tell of all)
      try {
        Promise.resolve(tell(event)).catch(() => undefined);
      } catch {
        // See above.
      }
  };
}
