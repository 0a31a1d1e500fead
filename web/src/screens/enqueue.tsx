import { useState } from 'preact/hooks';
import { type Asked, send } from '../api.ts';
import { AsCurl, Dialog, useAct } from '../dialogs.tsx';
import type { Job } from '../types.ts';
import { Field, JobLink, ProblemBox } from '../ui.tsx';
import { areGood, JOB_OPTIONS, type JobValues, membersOf, NewJobInputs, refusedAt } from './jobFields.tsx';

type Enqueued = Job & { deduplicated?: boolean };

/** Enqueues jobs, one after the other, until it is closed. */
export function EnqueueForm({
  queue: into,
  done,
  close,
}: {
  queue: string;
  done: () => void;
  close: () => void;
}) {
  const [queue, setQueue] = useState(into);
  const [values, setValues] = useState<JobValues>({ payload: '{}' });
  const [enqueued, setEnqueued] = useState<Enqueued>();
  const { act, isBusy, problem } = useAct();
  const asks: Asked = {
    method: 'POST',
    path: 'jobs',
    body: `{${[`"queue":${JSON.stringify(queue)}`, ...membersOf(values)].join(',')}}`,
  };
  const wrong = refusedAt(problem, '/queue');
  return (
    <Dialog title="Enqueue a job" close={close}>
      <form
        noValidate
        onSubmit={async (event) => {
          event.preventDefault();
          setEnqueued(undefined);
          const isSent = await act(async () => setEnqueued((await send<Enqueued>(asks)).body));
          if (isSent) done();
        }}
      >
        <Field
          label="Queue"
          help={wrong ? <strong class="wrong">The name {wrong}.</strong> : 'A new queue is created.'}
        >
          <input
            value={queue}
            required
            maxLength={128}
            autocomplete="off"
            aria-invalid={wrong !== undefined}
            onInput={(event) => setQueue(event.currentTarget.value)}
          />
        </Field>
        <NewJobInputs
          options={JOB_OPTIONS}
          values={values}
          problem={problem}
          set={(changed, value) => {
            setEnqueued(undefined);
            setValues({ ...values, [changed]: value });
          }}
        />
        <ProblemBox problem={problem} />
        {enqueued && (
          <p role="status" class="says">
            {enqueued.deduplicated ? 'Not enqueued: this job has the unique key already.' : 'Enqueued.'}{' '}
            <JobLink id={enqueued.id} />
          </p>
        )}
        <footer>
          {areGood(values) && <AsCurl of={[asks]} />}
          <button type="button" onClick={close}>
            {enqueued ? 'Done' : 'Back'}
          </button>
          <button type="submit" class="main" disabled={isBusy || !areGood(values) || queue === ''}>
            Enqueue
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

/** The button that opens the form. */
export function Enqueue({ queue, done }: { queue: string; done: () => void }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <button type="button" class="main" onClick={() => setOpen(true)}>
        Enqueue a job…
      </button>
      {isOpen && <EnqueueForm queue={queue} done={done} close={() => setOpen(false)} />}
    </>
  );
}
