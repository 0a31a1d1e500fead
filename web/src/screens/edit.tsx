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
              <strong class="wrong">Not valid JSON: {badPayload}</strong>
            ) : (
              'Stored exactly as typed.'
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
          help={badHeaders && <strong class="wrong">Not valid JSON: {badHeaders}</strong>}
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
          <Field label="Priority" help="-100 to 100, higher first.">
            <input type="number" min={-100} max={100} value={now.priority} onInput={set('priority')} />
          </Field>
          <Field label="Max attempts">
            <input type="number" min={1} max={1000} value={now.max_attempts} onInput={set('max_attempts')} />
          </Field>
          {!isDead && (
            <Field label="Run at" help="A time in the past means now.">
              <input type="datetime-local" step={1} value={now.run_at} onInput={set('run_at')} />
            </Field>
          )}
          <Field label="Expires in (seconds)" help="Empty: unchanged.">
            <input type="number" min={0} step="any" value={now.expires} onInput={set('expires')} />
          </Field>
        </div>
        <ProblemBox problem={problem} />
        <footer>
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
            <button type="button" class="main" disabled={isBusy || !isGood} onClick={() => void save(true)}>
              Save and retry
            </button>
          )}
        </footer>
      </form>
    </Dialog>
  );
}
