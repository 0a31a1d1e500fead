import { useState } from 'preact/hooks';
import { may, part } from '../../api.ts';
import { Confirm, Do } from '../../dialogs.tsx';
import { jobs } from '../../format.ts';
import { go } from '../../route.ts';
import type { Caller, Queue } from '../../types.ts';
import { Enqueue } from '../enqueue.tsx';
import { Purge } from './purge.tsx';
import { Redrive } from './redrive.tsx';
import { Relocate } from './relocate.tsx';

/** What can be done to a queue. */
export function Actions({
  queue,
  reload,
  caller,
}: {
  queue: Queue;
  reload: () => void;
  caller: Caller | undefined;
}) {
  if (!caller) return null;
  return (
    <div class="actions">
      {may(caller, 'produce', queue.name) && <Enqueue queue={queue.name} done={reload} />}
      {may(caller, 'admin', queue.name) ? (
        <AdminActions queue={queue} reload={reload} />
      ) : (
        <span class="quiet">
          Read-only: to pause, purge or configure, a key needs the scope admin for this queue.
        </span>
      )}
    </div>
  );
}

/** Nothing can be redriven: no job is dead, and none may be a dead letter. */
const isEmpty = ({ counts }: Queue) => counts.dead + counts.ready + counts.scheduled + counts.blocked === 0;

function AdminActions({ queue, reload }: { queue: Queue; reload: () => void }) {
  const [open, setOpen] = useState<'pause' | 'purge' | 'redrive' | 'relocate' | 'delete'>();
  const [said, setSaid] = useState('');
  const path = `queues/${part(queue.name)}`;
  const close = () => setOpen(undefined);
  const closeAndLook = () => {
    close();
    reload();
  };
  return (
    <>
      {queue.paused ? (
        <Do asks={{ method: 'POST', path: `${path}/resume` }} done={reload}>
          Resume
        </Do>
      ) : (
        <button type="button" onClick={() => setOpen('pause')}>
          Pause…
        </button>
      )}
      <button type="button" disabled={isEmpty(queue)} onClick={() => setOpen('redrive')}>
        Redrive…
      </button>
      {queue.database !== undefined && (
        <button type="button" onClick={() => setOpen('relocate')}>
          Relocate…
        </button>
      )}
      <button type="button" class="grave" onClick={() => setOpen('purge')}>
        Purge…
      </button>
      <button type="button" class="grave" onClick={() => setOpen('delete')}>
        Delete…
      </button>
      <span role="status">{said}</span>
      {open === 'pause' && (
        <Confirm
          title={`Pause ${queue.name}`}
          says="Workers get no more jobs from it. Enqueues are still accepted, and leased jobs run to their end."
          verb="Pause"
          asks={{ method: 'POST', path: `${path}/pause` }}
          done={closeAndLook}
          close={close}
        />
      )}
      {open === 'purge' && <Purge queue={queue} done={closeAndLook} close={close} />}
      {open === 'redrive' && (
        <Redrive
          queue={queue}
          done={(redriven) => {
            setSaid(`${jobs(redriven)} ${redriven === 1 ? 'is' : 'are'} ready again.`);
            closeAndLook();
          }}
          close={close}
        />
      )}
      {open === 'relocate' && <Relocate queue={queue} close={close} />}
      {open === 'delete' && (
        <Confirm
          title={`Delete ${queue.name}`}
          says="Deletes the queue, its configuration and all its jobs, including leased ones."
          verb="Delete the queue"
          typed={queue.name}
          isGrave
          asks={{ method: 'DELETE', path: `${path}?force=true` }}
          done={() => go('#/')}
          close={close}
        />
      )}
    </>
  );
}
