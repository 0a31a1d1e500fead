import { useState } from 'preact/hooks';
import { type Asked, get, keyStore, makeKey, may } from '../api.ts';
import { AsCurl, Confirm, Copy, Dialog, useAct } from '../dialogs.tsx';
import { usePoll } from '../poll.ts';
import type { AccessKey, Caller } from '../types.ts';
import { Empty, Field, Loading, ProblemBox, Stale, Table, When } from '../ui.tsx';

type Made = AccessKey & { key: string };

const SCOPES: [string, string][] = [
  ['produce', 'enqueue'],
  ['consume', 'claim and settle'],
  ['read', 'view everything'],
  ['admin', 'everything'],
];

/** A key is shown once. */
const Shown = ({ made, close }: { made: Made; close: () => void }) => (
  <Dialog title={`Access key ${made.name}`} close={close}>
    <p>Copy it now: it is shown only once. Dibs stores only a hash of it.</p>
    {keyStore.get() === made.key && <p>This tab uses it from now on.</p>}
    <pre class="secret">{made.key}</pre>
    <footer>
      <Copy text={made.key} />
      <button type="button" class="main" onClick={close}>
        I have saved it
      </button>
    </footer>
  </Dialog>
);

/** The first key must be able to make others: from then on, everybody needs one. */
function Create({
  isFirst,
  done,
  close,
}: {
  isFirst: boolean;
  done: (made: Made) => void;
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
          let made: Made | undefined;
          await act(async () => {
            made = await makeKey<Made>(asks);
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

const isAdmin = ({ scopes, queues, revoked_at }: AccessKey) =>
  !revoked_at && scopes.includes('admin') && queues.includes('*');

const isLastAdmin = (key: AccessKey, all: AccessKey[]) =>
  isAdmin(key) && !all.some((other) => other.id !== key.id && isAdmin(other));

export function KeysScreen({ caller }: { caller: Caller | undefined }) {
  const isAllowed = may(caller, 'admin');
  const [open, setOpen] = useState<{ create?: true; revoke?: AccessKey; rotate?: AccessKey; made?: Made }>(
    {},
  );
  const [overlap, setOverlap] = useState('3600');
  const { data, problem, reload } = usePoll(
    'keys',
    async () => (await get<{ keys: AccessKey[]; next_cursor: string | null }>('keys?limit=1000')).body,
    5000,
  );
  const close = () => setOpen({});
  const look = () => {
    close();
    void reload();
  };
  const show = (made: Made) => {
    setOpen({ made });
    void reload();
  };
  return (
    <main>
      <h1>Access keys</h1>
      {caller && !isAllowed && (
        <p class="quiet">To manage keys, a key needs the scope admin for all queues.</p>
      )}
      <Stale problem={problem} has={data !== undefined} />
      {!data && !problem && <Loading />}
      {data && (
        <div class="actions">
          <button type="button" class="main" onClick={() => setOpen({ create: true })}>
            Create a key…
          </button>
        </div>
      )}
      {data?.keys.length === 0 && (
        <Empty>
          No keys yet. Once the first key exists, every request needs one: save it before you close its
          window.
        </Empty>
      )}
      {data && data.keys.length > 0 && (
        <Table
          label="Access keys"
          head={
            <>
              <th scope="col">Name</th>
              <th scope="col">Scopes</th>
              <th scope="col">Queues</th>
              <th scope="col">Created</th>
              <th scope="col">Last used</th>
              <th scope="col">Expires</th>
              <th scope="col">
                <span class="unseen">Actions</span>
              </th>
            </>
          }
        >
          {data.keys.map((key) => (
            <tr key={key.id}>
              <th scope="row">
                {key.name} {key.revoked_at && <span class="tag">revoked</span>}
              </th>
              <td>{key.scopes.join(', ')}</td>
              <td>{key.queues.join(', ')}</td>
              <td>
                <When time={key.created_at} />
              </td>
              <td>
                <When time={key.last_used_at} none="never" />
              </td>
              <td>
                <When time={key.revoked_at ?? key.expires_at} none="never" />
              </td>
              <td>
                {!key.revoked_at && (
                  <div class="actions">
                    <button type="button" onClick={() => setOpen({ rotate: key })}>
                      Rotate…
                    </button>
                    <button type="button" class="grave" onClick={() => setOpen({ revoke: key })}>
                      Revoke…
                    </button>
                  </div>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {open.create && (
        <Create isFirst={caller?.needs_key === false && data?.keys.length === 0} done={show} close={close} />
      )}
      {open.made && <Shown made={open.made} close={close} />}
      {open.revoke && (
        <Confirm
          title={`Revoke ${open.revoke.name}`}
          says={
            isLastAdmin(open.revoke, data?.keys ?? [])
              ? 'No other key can create keys. Without it, new keys can be created only with "dibs keys create" at the database. This cannot be undone.'
              : 'All replicas refuse it within a second. This cannot be undone.'
          }
          verb="Revoke the key"
          typed={open.revoke.name}
          isGrave
          asks={{ method: 'DELETE', path: `keys/${encodeURIComponent(open.revoke.id)}` }}
          done={look}
          close={close}
        />
      )}
      {open.rotate && (
        <Confirm
          title={`Rotate ${open.rotate.name}`}
          says="The key gets a new secret. The old secret stays valid for a while, so that nobody is locked out."
          verb="Rotate the key"
          asks={{
            method: 'POST',
            path: `keys/${encodeURIComponent(open.rotate.id)}/rotate`,
            body: { overlap_seconds: Number(overlap) },
          }}
          by={makeKey<Made>}
          done={show}
          close={close}
        >
          <Field label="Old secret valid for (seconds)">
            <input
              type="number"
              min={0}
              value={overlap}
              onInput={(event) => setOverlap(event.currentTarget.value)}
            />
          </Field>
        </Confirm>
      )}
    </main>
  );
}
