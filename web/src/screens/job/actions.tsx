import { useState } from 'preact/hooks';
import { may, part } from '../../api.ts';
import { Confirm, Do } from '../../dialogs.tsx';
import type { Caller, Job } from '../../types.ts';
import { EditJob } from '../edit.tsx';

interface ActionsProps {
  job: Job;
  /** As it was sent. */
  payload: string;
  reload: () => void;
  caller: Caller | undefined;
}

const isUnfinished = ({ state }: Job) => ['scheduled', 'ready', 'blocked', 'leased'].includes(state);

/** What can be done to a job. */
export function Actions({ job, payload, reload, caller }: ActionsProps) {
  const [open, setOpen] = useState<'cancel' | 'edit' | 'pause'>();
  const path = `jobs/${encodeURIComponent(job.id)}`;
  const close = () => setOpen(undefined);
  const closeAndLook = () => {
    close();
    reload();
  };
  if (!caller) return null;
  if (!may(caller, 'admin', job.queue))
    return (
      <p class="quiet">Read-only: to retry, cancel or edit, a key needs the scope admin for this queue.</p>
    );
  const isChangeable = ['scheduled', 'ready', 'blocked', 'dead'].includes(job.state);
  return (
    <div class="actions">
      {(job.state === 'dead' || job.state === 'scheduled') && (
        <Do asks={{ method: 'POST', path: `${path}/retry` }} done={reload}>
          {job.state === 'dead' ? 'Retry' : 'Run now'}
        </Do>
      )}
      {isChangeable && (
        <button type="button" onClick={() => setOpen('edit')}>
          Edit…
        </button>
      )}
      {(isChangeable || job.state === 'leased') && (
        <button type="button" class="grave" onClick={() => setOpen('cancel')}>
          Cancel…
        </button>
      )}
      {job.group !== null && isUnfinished(job) && (
        <button type="button" onClick={() => setOpen('pause')}>
          Pause its group…
        </button>
      )}
      {open === 'pause' && (
        <Confirm
          title={`Pause the group ${job.group}`}
          says="Workers get no more jobs of this group. It still accepts jobs, a leased one runs to its end, and other groups go on. Resume it on the page of the queue."
          verb="Pause the group"
          asks={{
            method: 'POST',
            path: `queues/${part(job.queue)}/groups/${part(job.group as string)}/pause`,
          }}
          done={closeAndLook}
          close={close}
        />
      )}
      {open === 'edit' && <EditJob job={job} payload={payload} done={closeAndLook} close={close} />}
      {open === 'cancel' && (
        <Confirm
          title="Cancel this job"
          says={
            job.state === 'leased'
              ? 'A worker has it. The worker is told at its next heartbeat (extend). If it still acks, the job is completed; otherwise it is cancelled.'
              : 'No worker will get it.'
          }
          verb="Cancel the job"
          isGrave
          asks={{ method: 'DELETE', path }}
          done={closeAndLook}
          close={close}
        />
      )}
    </div>
  );
}
