import { useState } from 'preact/hooks';
import { type Asked, may, part, send } from '../../api.ts';
import { Confirm } from '../../dialogs.tsx';
import { jobs } from '../../format.ts';
import type { Batch, Caller } from '../../types.ts';
import { unfinishedIn, waitingIn } from './counts.ts';

interface ActionsProps {
  batch: Batch;
  caller: Caller | undefined;
  reload: () => void;
}

/** Something is left to cancel: jobs, or what follows them. */
const isCancellable = (batch: Batch) =>
  batch.state === 'open' || unfinishedIn(batch) > 0 || batch.followers.length > 0;

/** Who cancels many jobs sees on the page how far that is. */
const WATCHED_AFTER_MS = 3000;

/** Dibs goes on when nobody waits for its answer any more. It may take longer than a browser waits. */
async function beginCancel(asks: Asked): Promise<unknown> {
  const sent = send(asks);
  // What is refused later leaves jobs that wait, and the button.
  sent.catch(() => undefined);
  return Promise.race([sent, new Promise((resolve) => setTimeout(resolve, WATCHED_AFTER_MS))]);
}

function CancelDialog({ batch, done, close }: { batch: Batch; done: () => void; close: () => void }) {
  // The batch goes on below the dialog: what has to be typed stays.
  const [waiting] = useState(() => waitingIn(batch));
  return (
    <Confirm
      title={`Cancel ${batch.name ?? 'this batch'}`}
      says={`Closes the batch, and cancels its jobs that wait: ${jobs(waiting)} now. Leased jobs go on. None of its followers is enqueued any more. With many jobs that takes a while, and goes on when this page is closed.`}
      verb="Cancel the batch"
      typed={waiting > 0 ? String(waiting) : undefined}
      isGrave
      asks={{ method: 'DELETE', path: `batches/${part(batch.id)}` }}
      by={beginCancel}
      done={done}
      close={close}
    />
  );
}

const Lacks = ({ mayClose, isOpen }: { mayClose: boolean; isOpen: boolean }) => (
  <span class="quiet">
    {mayClose || !isOpen
      ? 'To cancel it, a key needs the scope admin for this queue.'
      : 'Read-only: to close it, a key needs the scope produce for this queue, and to cancel it the scope admin.'}
  </span>
);

/** What can be done to a batch. */
export function Actions({ batch, caller, reload }: ActionsProps) {
  const [open, setOpen] = useState<'close' | 'cancel'>();
  const close = () => setOpen(undefined);
  const closeAndLook = () => {
    close();
    reload();
  };
  if (!caller) return null;
  const isOpen = batch.state === 'open';
  const mayClose = may(caller, 'produce', batch.queue);
  const mayCancel = may(caller, 'admin', batch.queue);
  return (
    <div class="actions">
      {isOpen && mayClose && (
        <button type="button" onClick={() => setOpen('close')}>
          Close…
        </button>
      )}
      {isCancellable(batch) && mayCancel && (
        <button type="button" class="grave" onClick={() => setOpen('cancel')}>
          Cancel…
        </button>
      )}
      {isCancellable(batch) && !mayCancel && <Lacks mayClose={mayClose} isOpen={isOpen} />}
      {open === 'close' && (
        <Confirm
          title={`Close ${batch.name ?? 'this batch'}`}
          says="No more jobs come in, but those that its own jobs add with their ack or nack. It ends when all of its jobs are finished. It cannot be opened again."
          verb="Close the batch"
          asks={{ method: 'POST', path: `batches/${part(batch.id)}/close` }}
          done={closeAndLook}
          close={close}
        />
      )}
      {open === 'cancel' && <CancelDialog batch={batch} done={closeAndLook} close={close} />}
    </div>
  );
}
