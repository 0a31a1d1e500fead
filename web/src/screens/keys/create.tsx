import { useState } from 'preact/hooks';
import { type Asked, makeKey } from '../../api.ts';
import { AsCurl, Dialog, useAct } from '../../dialogs.tsx';
import type { MadeKey } from '../../types.ts';
import { Field, ProblemBox } from '../../ui.tsx';

const SCOPES: [string, string][] = [
  ['produce', 'enqueue'],
  ['consume', 'claim and settle'],
  ['read', 'view everything'],
  ['admin', 'everything'],
];

/** The first key must be able to make others: from then on, everybody needs one. */
export function Create({
  isFirst,
  done,
  close,
}: {
  isFirst: boolean;
  done: (made: MadeKey) => void;
  close: () => void;
}) {
  const { act, isBusy, problem } = useAct();
  const [scopes, setScopes] = useState<string[]>(isFirst ? ['admin'] : []);
  const [texts, setTexts] = useState({ name: '', queues: '', days: '' });
  const set = (name: keyof typeof texts) => (event: { currentTarget: { value: string } }) =>
    setTexts({ ...texts, [name]: event.currentTarget.value });
  const queues = texts.queues.split(/[\s,]+/).filter(Boolean);
  const asks: Asked = {
    method: 'POST',
    path: 'keys',
    body: {
      name: texts.name.trim(),
      scopes,
      ...(queues.length > 0 ? { queues } : {}),
      ...(texts.days === '' ? {} : { expires_in_seconds: Number(texts.days) * 86_400 }),
    },
  };
  return (
    <Dialog title="Create an access key" close={close}>
      <form
        onSubmit={async (event) => {
          event.preventDefault();
          let made: MadeKey | undefined;
          await act(async () => {
            made = await makeKey<MadeKey>(asks);
          });
          if (made) done(made);
        }}
      >
        {isFirst && (
          <p>
            This is the first key. Once it exists, every request needs a key. Only a key with the scope admin
            for all queues can create others, so this one gets it.
          </p>
        )}
        <Field label="Name" help="Who or what uses it.">
          <input value={texts.name} onInput={set('name')} required maxLength={128} autocomplete="off" />
        </Field>
        <fieldset class="checks">
          <legend>Scopes</legend>
          {SCOPES.map(([scope, says]) => (
            <label key={scope}>
              <input
                type="checkbox"
                checked={scopes.includes(scope)}
                disabled={isFirst && scope === 'admin'}
                onChange={(event) =>
                  setScopes(
                    event.currentTarget.checked ? [...scopes, scope] : scopes.filter((one) => one !== scope),
                  )
                }
              />{' '}
              {scope} <span class="quiet">{says}</span>
            </label>
          ))}
        </fieldset>
        {!isFirst && (
          <Field label="Queues" help="Names (mail), prefixes (mail.*), or * for all. Empty: all.">
            <input value={texts.queues} onInput={set('queues')} autocomplete="off" />
          </Field>
        )}
        <Field label="Expires after (days)" help="Empty: never.">
          <input value={texts.days} onInput={set('days')} type="number" min={1} max={366} />
        </Field>
        <ProblemBox problem={problem} />
        <footer>
          <AsCurl of={[asks]} />
          <button type="button" onClick={close}>
            Back
          </button>
          <button type="submit" class="main" disabled={isBusy || scopes.length === 0}>
            Create
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
