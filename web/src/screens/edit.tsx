import { useState } from 'preact/hooks';
import { call } from '../api.ts';
import { jsonProblem } from '../json.ts';
import type { Job } from '../types.ts';
import { Dialog, Field, ProblemBox, useAct } from '../ui.tsx';
import { fromField, toField } from './filters.ts';

/** Changes a job. The payload goes as it was typed: it is never parsed and written again. */
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
  const headers = JSON.stringify(job.headers, null, 2);
  const runAt = toField(job.run_at);
  const first = {
    payload,
    headers,
    priority: String(job.priority),
    run_at: runAt,
    max_attempts: String(job.max_attempts),
    expires: '',
  };
  const [now, setNow] = useState(first);
  const { act, isBusy, problem } = useAct();
  const isDead = job.state === 'dead';
  const set = (name: keyof typeof first) => (event: { currentTarget: { value: string } }) =>
    setNow({ ...now, [name]: event.currentTarget.value });
  const badPayload = jsonProblem(now.payload);
  const badHeaders = jsonProblem(now.headers);
  const members = [
    now.payload === payload ? '' : `"payload":${now.payload}`,
    now.headers === headers ? '' : `"headers":${now.headers}`,
    now.priority === first.priority ? '' : `"priority":${Number(now.priority)}`,
    now.run_at === runAt || now.run_at === '' ? '' : `"run_at":"${fromField(now.run_at)}"`,
    now.max_attempts === first.max_attempts ? '' : `"max_attempts":${Number(now.max_attempts)}`,
    now.expires === '' ? '' : `"expires_in_seconds":${Number(now.expires)}`,
  ].filter((member) => member !== '');
  const isGood = badPayload === undefined && badHeaders === undefined;
  const path = `jobs/${encodeURIComponent(job.id)}`;
  async function save(isRetried: boolean): Promise<void> {
    const isSaved = await act(async () => {
      if (members.length > 0) await call('PATCH', path, `{${members.join(',')}}`);
      if (isRetried) await call('POST', `${path}/retry`);
    });
    if (isSaved) done();
  }
  return (
    <Dialog title="Edit this job" close={close}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (isGood) void save(false);
        }}
      >
        <Field
          label="Payload"
          help={
            badPayload ? (
              <strong class="wrong">This is not JSON: {badPayload}</strong>
            ) : (
              'It is sent exactly as it stands here.'
            )
          }
        >
          <textarea
            class="mono"
            rows={8}
            spellcheck={false}
            value={now.payload}
            aria-invalid={badPayload !== undefined}
            onInput={set('payload')}
          />
        </Field>
        <Field
          label="Headers"
          help={badHeaders && <strong class="wrong">This is not JSON: {badHeaders}</strong>}
        >
          <textarea
            class="mono"
            rows={3}
            spellcheck={false}
            value={now.headers}
            aria-invalid={badHeaders !== undefined}
            onInput={set('headers')}
          />
        </Field>
        <div class="fields">
          <Field label="Priority" help="Higher first, from -100 to 100.">
            <input type="number" min={-100} max={100} value={now.priority} onInput={set('priority')} />
          </Field>
          <Field label="Attempts at most">
            <input type="number" min={1} max={1000} value={now.max_attempts} onInput={set('max_attempts')} />
          </Field>
          {!isDead && (
            <Field label="Ready at" help="The past means now.">
              <input type="datetime-local" step={1} value={now.run_at} onInput={set('run_at')} />
            </Field>
          )}
          <Field label="Expires in (seconds)" help="Empty: as it is.">
            <input type="number" min={0} step="any" value={now.expires} onInput={set('expires')} />
          </Field>
        </div>
        <ProblemBox problem={problem} />
        <footer>
          <button type="button" onClick={close}>
            Leave it
          </button>
          <button
            type="submit"
            class={isDead ? undefined : 'main'}
            disabled={isBusy || !isGood || members.length === 0}
          >
            Save
          </button>
          {isDead && (
            <button type="button" class="main" disabled={isBusy || !isGood} onClick={() => void save(true)}>
              Save and retry
            </button>
          )}
        </footer>
      </form>
    </Dialog>
  );
}
