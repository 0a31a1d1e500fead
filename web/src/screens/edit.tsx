import { useState } from 'preact/hooks';
import { type Asked, send } from '../api.ts';
import { AsCurl, Dialog, useAct } from '../dialogs.tsx';
import type { Job } from '../types.ts';
import { ProblemBox } from '../ui.tsx';
import { toField } from './filters.ts';
import { areGood, JobInput, type JobValues, membersOf } from './jobFields.tsx';

/** Changes a job that waits or is dead. */
export function EditJob({
  job,
  payload,
  done,
  close,
}: {
  job: Job;
  payload: string;
  done: () => void;
  close: () => void;
}) {
  const isDead = job.state === 'dead';
  const [first] = useState<JobValues>({
    payload,
    headers: JSON.stringify(job.headers, null, 2),
    priority: String(job.priority),
    max_attempts: String(job.max_attempts),
    ...(isDead ? {} : { run_at: toField(job.run_at) }),
    expires_in_seconds: '',
  });
  const [now, setNow] = useState(first);
  const { act, isBusy, problem } = useAct();
  const members = membersOf(now, first);
  const isGood = areGood(now) && now.payload?.trim() !== '';
  const path = `jobs/${encodeURIComponent(job.id)}`;
  const change: Asked[] =
    members.length === 0 ? [] : [{ method: 'PATCH', path, body: `{${members.join(',')}}` }];
  const retry: Asked = { method: 'POST', path: `${path}/retry` };
  async function save(asked: Asked[]): Promise<void> {
    const isSaved = await act(async () => {
      for (const one of asked) await send(one);
    });
    if (isSaved) done();
  }
  const inputs = (names: (keyof JobValues)[]) =>
    names.map((name) => (
      <JobInput
        key={name}
        name={name}
        values={now}
        problem={problem}
        set={(changed, value) => setNow({ ...now, [changed]: value })}
      />
    ));
  return (
    <Dialog title="Edit this job" close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isGood) void save(change);
        }}
      >
        {inputs(['payload', 'headers'])}
        <div class="fields">
          {inputs(['priority', 'max_attempts', ...(isDead ? [] : ['run_at' as const]), 'expires_in_seconds'])}
        </div>
        <ProblemBox problem={problem} />
        <footer>
          {isGood && change.length > 0 && <AsCurl of={isDead ? [...change, retry] : change} />}
          <button type="button" onClick={close}>
            Back
          </button>
          <button
            type="submit"
            class={isDead ? undefined : 'main'}
            disabled={isBusy || !isGood || members.length === 0}
          >
            Save
          </button>
          {isDead && (
            <button
              type="button"
              class="main"
              disabled={isBusy || !isGood}
              onClick={() => void save([...change, retry])}
            >
              Save and retry
            </button>
          )}
        </footer>
      </form>
    </Dialog>
  );
}
