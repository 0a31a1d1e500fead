import { useState } from 'preact/hooks';
import { call, part } from '../api.ts';
import { duration } from '../format.ts';
import type { Queue, QueueConfig } from '../types.ts';
import { Field, ProblemBox, useAct } from '../ui.tsx';

interface Setting {
  /** Where it stands in the body: `backoff.kind`. */
  path: string;
  label: string;
  help: string;
  isSeconds?: boolean;
}

const SETTINGS: Setting[] = [
  {
    path: 'lease_seconds',
    label: 'Lease',
    isSeconds: true,
    help: 'How long a worker has a job when its claim names no time. A worker that needs longer extends its lease. Default: 30 s.',
  },
  {
    path: 'max_attempts',
    label: 'Attempts',
    help: 'How often a job is tried when its enqueue names no number. After the last one it is dead. Default: 5.',
  },
  {
    path: 'backoff.base_seconds',
    label: 'Backoff: first delay',
    isSeconds: true,
    help: 'How long a job rests after its first failure. Default: 1 s.',
  },
  {
    path: 'backoff.max_seconds',
    label: 'Backoff: longest delay',
    isSeconds: true,
    help: 'No delay is longer. Default: 1 h.',
  },
  {
    path: 'backoff.jitter',
    label: 'Backoff: jitter',
    help: 'A delay is shortened by a random share of up to this, so that jobs that failed together do not come back together. From 0 to 1. Default: 0.2.',
  },
  {
    path: 'retention_seconds',
    label: 'Keep finished jobs',
    isSeconds: true,
    help: 'For so long a completed or cancelled job can be looked at, with its result. Default: 0, it is gone at once.',
  },
  {
    path: 'dead_retention_seconds',
    label: 'Keep dead jobs',
    isSeconds: true,
    help: 'For so long a dead job can be looked at and redriven. Default: 14 days.',
  },
  {
    path: 'max_leased',
    label: 'Most leased at once',
    help: 'At so many leases, claims get nothing until one is settled. Over all replicas. Default: no limit.',
  },
  {
    path: 'rate_limit.jobs',
    label: 'Rate limit: jobs',
    help: 'At most so many jobs are claimed in a window. Default: no limit.',
  },
  {
    path: 'rate_limit.per_seconds',
    label: 'Rate limit: window',
    isSeconds: true,
    help: 'The length of the window. Both, or none.',
  },
  {
    path: 'max_ready',
    label: 'Most ready',
    help: 'With so many ready and blocked jobs, enqueues are refused (429 queue_full). Default: no limit.',
  },
];

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
    const given = path === 'backoff.kind' ? value : Number(value);
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
  const wrong = (path: string) =>
    problem?.errors.find((error) => error.path === `/${path.replace('.', '/')}`)?.message;
  return (
    <form
      class="config"
      onSubmit={async (event) => {
        event.preventDefault();
        if (!(await act(() => call('PUT', `queues/${part(queue.name)}`, bodyOf(values))))) return;
        setSaid('Saved. Every replica goes by it within a second.');
        saved();
      }}
    >
      <p class="quiet">
        Saving replaces the whole configuration. A field that is left empty takes its default.
        {!isAllowed && ' This key may look only: to change it needs the scope admin for this queue.'}
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
        {SETTINGS.map(({ path, label, help, isSeconds }) => {
          const value = values[path] ?? '';
          return (
            <Field
              key={path}
              label={isSeconds ? `${label} (seconds)` : label}
              help={
                <>
                  {isSeconds && Number(value) >= 60 && <b>{duration(Number(value))}. </b>}
                  {help}
                  {wrong(path) && <strong class="wrong"> It {wrong(path)}.</strong>}
                </>
              }
            >
              <input
                type="number"
                step="any"
                value={value}
                disabled={!isAllowed}
                aria-invalid={wrong(path) !== undefined}
                onInput={(event) => set(path, event.currentTarget.value)}
              />
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
          <span role="status">{said}</span>
        </footer>
      )}
    </form>
  );
}
