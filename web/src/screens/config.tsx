import { useState } from 'preact/hooks';
import { type Asked, part, send } from '../api.ts';
import { AsCurl, useAct } from '../dialogs.tsx';
import { duration } from '../format.ts';
import type { Queue, QueueConfig } from '../types.ts';
import { Field, ProblemBox } from '../ui.tsx';
import { refusedAt } from './jobFields.tsx';

interface Setting {
  /** Where it stands in the body: `backoff.kind`. */
  path: string;
  label: string;
  help: string;
  isSeconds?: boolean;
  /** It is no number. */
  isText?: boolean;
}

const SETTINGS: Setting[] = [
  {
    path: 'lease_seconds',
    label: 'Lease time',
    isSeconds: true,
    help: 'How long a worker may hold a job without a heartbeat (visibility timeout). A claim may ask for another time. Default: 30 s.',
  },
  {
    path: 'max_attempts',
    label: 'Max attempts',
    help: 'How often a job is tried before it is dead. An enqueue may ask for another number. Default: 5.',
  },
  {
    path: 'backoff.base_seconds',
    label: 'Backoff: first delay',
    isSeconds: true,
    help: 'Delay before the first retry. Default: 1 s.',
  },
  {
    path: 'backoff.max_seconds',
    label: 'Backoff: longest delay',
    isSeconds: true,
    help: 'Longest delay between retries. Default: 1 h.',
  },
  {
    path: 'backoff.jitter',
    label: 'Backoff: jitter',
    help: 'Each delay is shortened by a random share of up to this, so that jobs that failed together are not retried together. 0 to 1. Default: 0.2.',
  },
  {
    path: 'retention_seconds',
    label: 'Retention of finished jobs',
    isSeconds: true,
    help: 'How long completed and cancelled jobs are kept, with their results. Default: 0, they are deleted at once.',
  },
  {
    path: 'dead_retention_seconds',
    label: 'Retention of dead jobs',
    isSeconds: true,
    help: 'How long dead jobs are kept for a redrive. Default: 14 days.',
  },
  {
    path: 'alert_after_seconds',
    label: 'Alert after',
    isSeconds: true,
    help: 'How long a job may be ready before that is an alert. Raise it for queues of long or rare work. Default: 5 min.',
  },
  {
    path: 'max_leased',
    label: 'Max leased',
    help: 'Concurrency limit: how many jobs of this queue may be leased at once, over all workers. Default: no limit.',
  },
  {
    path: 'rate_limit.jobs',
    label: 'Rate limit: jobs',
    help: 'How many jobs may be claimed per window. Default: no limit.',
  },
  {
    path: 'rate_limit.per_seconds',
    label: 'Rate limit: window',
    isSeconds: true,
    help: 'Length of the window. Set both fields or neither.',
  },
  {
    path: 'max_ready',
    label: 'Max ready',
    help: 'How many ready and blocked jobs the queue takes. More enqueues are refused (429 queue_full). Default: no limit.',
  },
  {
    path: 'group_concurrency',
    label: 'Group concurrency',
    help: 'How many jobs of one group may run at once, over all workers. Default: 1.',
  },
  {
    path: 'group_batches',
    label: 'Group batches',
    help: 'How many jobs of one group a claim may get. Default: 1.',
  },
  {
    path: 'dead_letter_queue',
    label: 'Dead letter queue',
    isText: true,
    help: 'A job that becomes dead goes to this queue, as a new job. Default: it stays here, dead.',
  },
];

const TEXTS = new Set(['backoff.kind', ...SETTINGS.filter(({ isText }) => isText).map(({ path }) => path)]);

const KINDS = ['exponential', 'linear', 'constant'];

function flat(config: QueueConfig): Record<string, string> {
  const found: Record<string, string> = {};
  const walk = (of: object, before: string) => {
    for (const [name, value] of Object.entries(of))
      if (typeof value === 'object' && value !== null) walk(value, `${before}${name}.`);
      else found[before + name] = String(value);
  };
  walk(config, '');
  return found;
}

/** What is left empty takes its default. */
function bodyOf(values: Record<string, string>): object {
  const body: Record<string, unknown> = {};
  for (const [path, value] of Object.entries(values)) {
    if (value.trim() === '') continue;
    const [outer, inner] = path.split('.') as [string, string?];
    const given = TEXTS.has(path) ? value : Number(value);
    if (inner === undefined) body[outer] = given;
    else body[outer] = { ...(body[outer] as object | undefined), [inner]: given };
  }
  return body;
}

/** The configuration of a queue, with what each field means. */
export function ConfigForm({
  queue,
  isAllowed,
  saved,
}: {
  queue: Queue;
  isAllowed: boolean;
  saved: () => void;
}) {
  const [values, setValues] = useState(() => flat(queue.config));
  const [said, setSaid] = useState('');
  const { act, isBusy, problem } = useAct();
  const set = (path: string, value: string) => {
    setSaid('');
    setValues((before) => ({ ...before, [path]: value }));
  };
  const wrong = (path: string) => refusedAt(problem, `/${path.replace('.', '/')}`);
  const asks: Asked = { method: 'PUT', path: `queues/${part(queue.name)}`, body: bodyOf(values) };
  return (
    <form
      class="config"
      onSubmit={async (event) => {
        event.preventDefault();
        if (!(await act(() => send(asks)))) return;
        setSaid('Saved. It applies to all replicas within a second.');
        saved();
      }}
    >
      <p class="quiet">
        Saving replaces the whole configuration. An empty field gets its default.
        {!isAllowed && ' Read-only: to change it, a key needs the scope admin for this queue.'}
      </p>
      <div class="fields">
        <Field
          label="Backoff: kind"
          help="How delays grow: base × 2ⁿ⁻¹, base × n, or always base. Default: exponential."
        >
          <select
            value={values['backoff.kind']}
            disabled={!isAllowed}
            onChange={(event) => set('backoff.kind', event.currentTarget.value)}
          >
            {KINDS.map((kind) => (
              <option key={kind}>{kind}</option>
            ))}
          </select>
        </Field>
        {SETTINGS.map(({ path, label, help, isSeconds, isText }) => {
          const value = values[path] ?? '';
          const input = {
            value,
            disabled: !isAllowed,
            'aria-invalid': wrong(path) !== undefined,
            onInput: (event: InputEvent) => set(path, (event.currentTarget as HTMLInputElement).value),
          };
          return (
            <Field
              key={path}
              label={isSeconds ? `${label} (seconds)` : label}
              help={
                <>
                  {isSeconds && Number(value) >= 60 && <b>{duration(Number(value))}. </b>}
                  {help}
                  {wrong(path) && <strong class="wrong"> The value {wrong(path)}.</strong>}
                </>
              }
            >
              {isText ? <input {...input} /> : <input type="number" step="any" {...input} />}
            </Field>
          );
        })}
      </div>
      <ProblemBox problem={problem} />
      {isAllowed && (
        <footer>
          <button type="submit" class="main" disabled={isBusy}>
            {isBusy ? 'Saving…' : 'Save'}
          </button>
          <AsCurl of={[asks]} />
          <span role="status">{said}</span>
        </footer>
      )}
    </form>
  );
}
