import { useState } from 'preact/hooks';
import { part } from '../../api.ts';
import { Confirm } from '../../dialogs.tsx';
import { jobs } from '../../format.ts';
import type { Queue } from '../../types.ts';
import { Field } from '../../ui.tsx';

export function Redrive({
  queue,
  done,
  close,
}: {
  queue: Queue;
  done: (redriven: number) => void;
  close: () => void;
}) {
  const [limit, setLimit] = useState('');
  const [error, setError] = useState('');
  const [isHome, setIsHome] = useState(false);
  return (
    <Confirm<{ count: number }>
      title={`Redrive ${queue.name}`}
      says={
        isHome
          ? 'Sends the dead letters of this queue back to the queues from which they came. Their attempts are reset to 0.'
          : `Makes dead jobs ready again, oldest first. Their attempts are reset to 0. ${jobs(queue.counts.dead)} dead.`
      }
      verb="Redrive"
      asks={{
        method: 'POST',
        path: `queues/${part(queue.name)}/redrive`,
        body: {
          ...(limit === '' ? {} : { limit: Number(limit) }),
          ...(error === '' ? {} : { error_contains: error }),
          ...(isHome ? { home: true } : {}),
        },
      }}
      done={(answer) => done(answer.count)}
      close={close}
    >
      <Field
        label="Dead letters"
        help="This is the dead letter queue of others: send its jobs back, in place of making dead ones ready."
      >
        <input
          type="checkbox"
          checked={isHome}
          onChange={(event) => setIsHome(event.currentTarget.checked)}
        />
      </Field>
      <Field label="Only where the error contains" help="Empty: all.">
        <input value={error} maxLength={1024} onInput={(event) => setError(event.currentTarget.value)} />
      </Field>
      <Field label="Limit" help="Empty: no limit.">
        <input type="number" min={1} value={limit} onInput={(event) => setLimit(event.currentTarget.value)} />
      </Field>
    </Confirm>
  );
}
