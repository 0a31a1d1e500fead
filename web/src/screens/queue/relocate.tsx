import { useState } from 'preact/hooks';
import { type Asked, get, part, send } from '../../api.ts';
import { AsCurl, Dialog, useAct } from '../../dialogs.tsx';
import { duration, jobs } from '../../format.ts';
import { usePoll } from '../../poll.ts';
import { preview } from '../../preview.ts';
import { go, link } from '../../route.ts';
import type { Databases, Operation, Queue } from '../../types.ts';
import { Field, ProblemBox } from '../../ui.tsx';

/** Moves a queue to another database: it tells for how long calls will wait, asks, and then starts the operation. */
export function Relocate({ queue, close }: { queue: Queue; close: () => void }) {
  const { data, problem: unknown } = usePoll(
    'databases to choose',
    async () => (await get<Databases>('databases')).body.databases,
  );
  const others = (data ?? []).filter(({ name, state }) => name !== queue.database && state === 'open');
  const [chosen, setChosen] = useState<string>();
  const [counted, setCounted] = useState<Operation>();
  const [gone] = useState({ isGone: false });
  const { act, isBusy, problem } = useAct();
  const to = chosen ?? others[0]?.name;
  const asks = {
    method: 'POST',
    path: `queues/${part(queue.name)}/relocate`,
    body: { to },
  } satisfies Asked;
  const leave = () => {
    gone.isGone = true;
    close();
  };
  const start = async () => {
    const isStarted = await act(async () => {
      const { id } = (await send<Operation>(asks)).body;
      go(link(['operations', id]));
    });
    if (isStarted) leave();
  };
  return (
    <Dialog title={`Relocate ${queue.name}`} close={leave}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (counted) void start();
          else void act(async () => setCounted(await preview(asks, () => gone.isGone)));
        }}
      >
        <p>
          Moves the queue, with all of its jobs, from <strong>{queue.database}</strong> to another database.
          Calls for this queue wait meanwhile.
        </p>
        <Field label="To database" help="Only those that are open for new queues.">
          <select
            value={to}
            onChange={(event) => {
              setChosen(event.currentTarget.value);
              setCounted(undefined);
            }}
          >
            {others.map(({ name }) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </Field>
        {data && others.length === 0 && <p role="status">No other database is open for new queues.</p>}
        {counted && (
          <p role="status" class="says">
            <strong>{jobs(counted.matched)}</strong>. Calls will wait for about{' '}
            {duration(counted.hold_seconds)}. After 5 s each is refused with 503, and can be repeated.
          </p>
        )}
        <ProblemBox problem={problem ?? unknown} />
        <footer>
          {to && <AsCurl of={[asks]} />}
          <button type="button" onClick={leave}>
            Back
          </button>
          {counted ? (
            <button type="submit" class="grave" disabled={isBusy}>
              Relocate to {to}
            </button>
          ) : (
            <button type="submit" class="main" disabled={isBusy || to === undefined}>
              {isBusy ? 'Counting…' : 'Count first'}
            </button>
          )}
        </footer>
      </form>
    </Dialog>
  );
}
