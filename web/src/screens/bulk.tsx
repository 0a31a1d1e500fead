import { useState } from 'preact/hooks';
import { type Asked, send } from '../api.ts';
import { AsCurl, Dialog, useAct } from '../dialogs.tsx';
import { count, jobs } from '../format.ts';
import { preview } from '../preview.ts';
import { go, link } from '../route.ts';
import type { Operation } from '../types.ts';
import { Field, ProblemBox } from '../ui.tsx';
import { type Filters, inWords, operationFilter } from './filters.ts';

const VERBS = {
  retry: 'Retry: make dead and scheduled jobs ready now',
  cancel: 'Cancel: no worker will get them',
  move: 'Move to another queue',
  delete: 'Delete for good',
};
type Verb = keyof typeof VERBS;

/** Which states each verb is for. */
const FITS: Record<Verb, string[]> = {
  retry: ['dead', 'scheduled'],
  cancel: ['scheduled', 'ready', 'blocked', 'leased', 'dead'],
  move: ['scheduled', 'ready', 'blocked', 'dead'],
  delete: ['scheduled', 'ready', 'blocked', 'completed', 'cancelled', 'dead'],
};
const fitting = (state = '') => (Object.keys(VERBS) as Verb[]).filter((verb) => FITS[verb].includes(state));

/** Changes all jobs that match a filter: it counts them, asks, and then starts an operation. */
export function BulkDialog({
  queue,
  filters,
  close,
}: {
  queue: string;
  filters: Filters;
  close: () => void;
}) {
  const [verb, setVerb] = useState<Verb>(fitting(filters.state)[0] ?? 'delete');
  const [to, setTo] = useState('');
  const [counted, setCounted] = useState<Operation>();
  const [typed, setTyped] = useState('');
  const [gone] = useState({ isGone: false });
  const { act, isBusy, problem } = useAct();
  const body = { verb, queue, ...(verb === 'move' ? { to } : {}), filter: operationFilter(filters) };
  const asks = { method: 'POST', path: 'operations', body } satisfies Asked;
  const matched = counted?.matched ?? 0;
  const isTyped = typed.replaceAll(/[,.\s]/g, '') === String(matched);
  const leave = () => {
    gone.isGone = true;
    close();
  };
  const start = async () => {
    const isStarted = await act(async () => {
      const operation = (await send<Operation>(asks)).body;
      go(link(['operations', operation.id]));
    });
    if (isStarted) leave();
  };
  return (
    <Dialog title="Change all matching jobs" close={leave}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (counted) void (isTyped && start());
          else void act(async () => setCounted(await preview(asks, () => gone.isGone)));
        }}
      >
        <p>
          In <strong>{queue}</strong>: every job with {inWords(filters)}, on every page. Jobs enqueued from
          now on are not affected.
        </p>
        <Field label="Action">
          <select
            value={verb}
            onChange={(event) => {
              setVerb(event.currentTarget.value as Verb);
              setCounted(undefined);
            }}
          >
            {fitting(filters.state).map((name) => (
              <option key={name} value={name}>
                {VERBS[name]}
              </option>
            ))}
          </select>
        </Field>
        {verb === 'move' && (
          <Field label="To queue">
            <input
              value={to}
              required
              onInput={(event) => {
                setTo(event.currentTarget.value);
                setCounted(undefined);
              }}
            />
          </Field>
        )}
        {counted && (
          <p role="status" class="says">
            <strong>{count(matched)}</strong> {matched === 1 ? 'job matches' : 'jobs match'} now.
          </p>
        )}
        {counted && matched > 0 && (
          <Field label={`Type ${matched} to confirm`}>
            <input
              value={typed}
              inputMode="numeric"
              autocomplete="off"
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          </Field>
        )}
        {problem?.code === 'route_not_found' ? (
          <div class="problem" role="alert">
            This version of Dibs has no operations.
          </div>
        ) : (
          <ProblemBox problem={problem} />
        )}
        <footer>
          <AsCurl of={[asks]} />
          <button type="button" onClick={leave}>
            Back
          </button>
          {counted ? (
            <button type="submit" class="grave" disabled={isBusy || matched === 0 || !isTyped}>
              {verb} {jobs(matched)}
            </button>
          ) : (
            <button type="submit" class="main" disabled={isBusy || (verb === 'move' && to === '')}>
              {isBusy ? 'Counting…' : 'Count first'}
            </button>
          )}
        </footer>
      </form>
    </Dialog>
  );
}

function whyNot({ state, payload_contains, batch }: Filters): string {
  if (state === undefined) return 'Choose a state first.';
  if (batch !== undefined) return 'Operations do not know batches: select rows instead.';
  return payload_contains === undefined
    ? 'Only one unfinished job can have a unique key: open that job.'
    : 'Operations do not search payloads: select rows instead.';
}

/** The way to cancel, retry, move or delete all jobs that match a filter. */
export function Bulk({ queue, filters }: { queue: string; filters: Filters }) {
  const [isOpen, setOpen] = useState(false);
  const isKnown = operationFilter(filters) !== undefined;
  return (
    <div class="bulk">
      <button type="button" disabled={!isKnown} onClick={() => setOpen(true)}>
        Change all matching…
      </button>
      {!isKnown && <span class="quiet">{whyNot(filters)}</span>}
      {isOpen && <BulkDialog queue={queue} filters={filters} close={() => setOpen(false)} />}
    </div>
  );
}
