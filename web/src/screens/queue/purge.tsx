import { useState } from 'preact/hooks';
import { part } from '../../api.ts';
import { Confirm } from '../../dialogs.tsx';
import { count, jobs } from '../../format.ts';
import { type Queue, STATES } from '../../types.ts';
import { jobsIn } from './jobsIn.ts';

const purgeable = STATES.filter((state) => state !== 'leased');

export function Purge({ queue, done, close }: { queue: Queue; done: () => void; close: () => void }) {
  const [states, setStates] = useState<string[]>([]);
  return (
    <Confirm
      title={`Purge ${queue.name}`}
      says="Deletes all jobs in these states for good. Jobs enqueued from now on are not affected."
      verb={`Delete ${jobs(jobsIn(queue, states))}`}
      typed={queue.name}
      isChosen={states.length > 0}
      isGrave
      asks={{ method: 'POST', path: `queues/${part(queue.name)}/purge`, body: { states } }}
      done={done}
      close={close}
    >
      <fieldset class="checks">
        <legend>States</legend>
        {purgeable.map((state) => (
          <label key={state}>
            <input
              type="checkbox"
              checked={states.includes(state)}
              onChange={(event) =>
                setStates(
                  event.currentTarget.checked ? [...states, state] : states.filter((one) => one !== state),
                )
              }
            />{' '}
            {state} <span class="quiet">{count(queue.counts[state])}</span>
          </label>
        ))}
      </fieldset>
    </Confirm>
  );
}
