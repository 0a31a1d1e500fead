import { useState } from 'preact/hooks';
import { call, keyStore, type Problem } from './api.ts';
import { useAct } from './dialogs.tsx';
import { Field, ProblemBox } from './ui.tsx';

/** Asks for the key. It is kept in this tab only. The one before is kept until another is good. */
export function KeyForm({
  why,
  entered,
  leave,
}: {
  why: Problem | undefined;
  /** Another key is in use, or none. */
  entered: () => void;
  /** Undefined when there is nothing to go back to. */
  leave: (() => void) | undefined;
}) {
  const [key, setKey] = useState('');
  const { act, isBusy, problem, setProblem } = useAct();
  const said = problem ?? why;
  return (
    <main class="enter">
      <h1>Dibs</h1>
      <form
        onSubmit={async (event) => {
          event.preventDefault();
          const isIn = await act(async () => {
            const before = keyStore.get();
            keyStore.set(key.trim());
            await call('GET', 'overview?limit=1').catch((error: Problem) => {
              // A key without the scope `read` is good, and yet no use here.
              if (error.status !== 0 && before !== undefined) keyStore.set(before);
              else if (error.status !== 0) keyStore.forget();
              throw error;
            });
          });
          if (isIn) entered();
        }}
      >
        <Field
          label="Access key"
          help="Kept in this tab only, until you close it. The key needs the scope read."
        >
          <input
            type="password"
            value={key}
            autocomplete="off"
            onInput={(event) => {
              setProblem(undefined);
              setKey(event.currentTarget.value);
            }}
          />
        </Field>
        {said?.status === 401 ? (
          <div class="problem" role="alert">
            This access key is not valid: it was mistyped, was revoked, or has expired.
          </div>
        ) : (
          <ProblemBox problem={said} />
        )}
        <footer>
          {leave && (
            <button type="button" onClick={leave}>
              Back
            </button>
          )}
          {leave && keyStore.get() !== undefined && (
            <button
              type="button"
              onClick={() => {
                keyStore.forget();
                entered();
              }}
            >
              Sign out
            </button>
          )}
          <button type="submit" class="main" disabled={isBusy || key.trim() === ''}>
            {isBusy ? 'Signing in…' : 'Sign in'}
          </button>
        </footer>
      </form>
    </main>
  );
}
