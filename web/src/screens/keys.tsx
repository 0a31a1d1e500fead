import { useState } from 'preact/hooks';
import { get, makeKey, may } from '../api.ts';
import { Confirm } from '../dialogs.tsx';
import { usePoll } from '../poll.ts';
import type { AccessKey, Caller, KeyPage, MadeKey } from '../types.ts';
import { Column, Empty, Field, Loading, Stale, Table, When } from '../ui.tsx';
import { Create } from './keys/create.tsx';
import { Made } from './keys/made.tsx';

const isAdmin = ({ scopes, queues, revoked_at }: AccessKey) =>
  !revoked_at && scopes.includes('admin') && queues.includes('*');

const isLastAdmin = (key: AccessKey, all: AccessKey[]) =>
  isAdmin(key) && !all.some((other) => other.id !== key.id && isAdmin(other));

export function KeysScreen({ caller }: { caller: Caller | undefined }) {
  const isAllowed = may(caller, 'admin');
  const [open, setOpen] = useState<{ create?: true; revoke?: AccessKey; rotate?: AccessKey; made?: MadeKey }>(
    {},
  );
  const [overlap, setOverlap] = useState('3600');
  const { data, problem, reload } = usePoll(
    'keys',
    async () => (await get<KeyPage>('keys?limit=1000')).body,
    5000,
  );
  const close = () => setOpen({});
  const look = () => {
    close();
    void reload();
  };
  const show = (made: MadeKey) => {
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
              <Column>Name</Column>
              <Column>Scopes</Column>
              <Column>Queues</Column>
              <Column>Created</Column>
              <Column>Last used</Column>
              <Column>Expires</Column>
              <Column>
                <span class="unseen">Actions</span>
              </Column>
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
      {open.made && <Made made={open.made} close={close} />}
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
          by={makeKey<MadeKey>}
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
