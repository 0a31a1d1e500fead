import {
  type AccessKey,
  createKey,
  listKeys,
  type MadeKey,
  type NewKey,
  revokeKey,
  rotateKey,
} from '../../clients/typescript/src/generated.ts';
import { SCOPES } from '../../src/caller.ts';
import { shown } from '../shown.ts';
import { UsageError } from '../usage.ts';
import { type Cli, examples, number, several } from './cli.ts';
import { checkPage, type PageOptions, showPages, withPages } from './pages.ts';
import type { Answer, Session } from './session.ts';
import { fromNow } from './terminal.ts';

interface CreateOptions {
  scope?: string[];
  queue?: string[];
  expiresInSeconds?: number;
}

interface RotateOptions {
  overlapSeconds?: number;
  yes?: boolean;
}

type Scope = NewKey['scopes'][number];

function stateOf({ revoked_at, expires_at }: AccessKey): string {
  if (revoked_at !== null) return `revoked ${fromNow(revoked_at)}`;
  if (expires_at === null) return '';
  return Date.parse(expires_at) < Date.now() ? `ended ${fromNow(expires_at)}` : `ends ${fromNow(expires_at)}`;
}

async function list(session: Session, options: PageOptions): Promise<undefined> {
  const row = (key: AccessKey) => [
    key.name,
    key.id,
    key.scopes.join(),
    key.queues.join(),
    key.last_used_at === null ? 'never' : fromNow(key.last_used_at),
    stateOf(key),
  ];
  await showPages(session, options, (page) => session.ask((caller) => listKeys(caller, page)), {
    headings: ['NAME', 'ID', 'SCOPES', 'QUEUES', 'LAST USED', 'STATE'],
    rows: ({ keys }) => keys.map(row),
    none: 'No access keys.',
  });
}

/** The key with this id, or the one of this name that is not revoked. @throws UsageError */
async function find(session: Session, text: string): Promise<AccessKey> {
  let named: AccessKey | undefined;
  for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
    const page = (await session.ask((caller) => listKeys(caller, { limit: 1000, cursor }))).value;
    checkPage(page);
    const found = page.keys.find(({ id }) => id === text);
    if (found) return found;
    named ??= page.keys.find(({ name, revoked_at }) => name === text && revoked_at === null);
    cursor = page.next_cursor ?? undefined;
  }
  if (named) return named;
  throw new UsageError(`There is no access key "${text}". \`dibs keys list\` shows them.`);
}

/** Standard output has the key alone. People are told what it is. */
function show(session: Session, answer: Answer<MadeKey>, what: string): void {
  const { name, id, key } = answer.value;
  if (!session.isJson && session.terminal.stdout.isTTY)
    session.say(shown`${what} the access key "${name}" (${id}). It is shown this once.`);
  session.show(answer, () => shown`${key}\n`);
}

async function create(session: Session, options: CreateOptions, name: string): Promise<undefined> {
  const { scope: scopes, queue: queues, expiresInSeconds: expires_in_seconds } = options;
  if (!scopes) throw new UsageError(`dibs keys create needs a --scope: ${SCOPES.join(', ')}.`);
  const wrong = scopes.find((scope) => !SCOPES.includes(scope as Scope));
  if (wrong !== undefined)
    throw new UsageError(`There is no scope "${wrong}". There are ${SCOPES.join(', ')}.`);
  const body = { name, scopes: scopes as Scope[], queues, expires_in_seconds };
  show(session, await session.ask((caller) => createKey(caller, body)), 'Created');
}

async function rotate(session: Session, options: RotateOptions, text: string): Promise<undefined> {
  const { id, name } = await find(session, text);
  const { overlapSeconds: overlap_seconds } = options;
  if (overlap_seconds === 0)
    await session.confirm(shown`This refuses the secret that access key "${name}" has now.`, options);
  show(session, await session.ask((caller) => rotateKey(caller, id, { overlap_seconds })), 'Rotated');
}

async function revoke(session: Session, options: { yes?: boolean }, text: string): Promise<undefined> {
  const { id, name } = await find(session, text);
  await session.confirm(shown`This revokes access key "${name}" (${id}), for ever.`, options);
  await session.ask((caller) => revokeKey(caller, id));
  if (session.isJson) session.json(JSON.stringify({ id }));
  else session.out(shown`Revoked the access key ${id}.\n`);
}

export function add({ program, act }: Cli): void {
  const keys = program
    .command('keys')
    .summary('create, list, rotate or revoke access keys')
    .description(
      'Access keys. The key of this command needs the scope admin for all queues.\n\n' +
        'With DATABASE_URL or DATA_DIR, and without --context, the same commands work in that database, also before there is a first key. ' +
        'So they do where nothing says which Dibs is meant.',
    )
    .helpCommand(false);
  examples(
    withPages(keys.command('list', { isDefault: true }).summary('list keys')).action(act(list)),
    'dibs keys list',
  );
  examples(
    keys
      .command('create <name>')
      .summary('create a key and print it')
      .option('--scope <scope>', `what it may do: ${SCOPES.join(', ')}; may be given several times`, several)
      .option('--queue <pattern>', 'where: "mail", "mail.*", "*" (all); may be given several times', several)
      .option('--expires-in-seconds <n>', 'when it expires (default: never)', number(1))
      .action(act(create)),
    'dibs keys create mailer --scope produce --queue "mail.*"',
  );
  examples(
    keys
      .command('rotate <key>')
      .summary('print a new secret for a key, by its name or id')
      .option('--overlap-seconds <n>', 'how long the old one goes on (3600); 0 for one that leaked', number())
      .option('--yes', 'do not ask')
      .action(act(rotate)),
    'dibs keys rotate mailer',
  );
  examples(
    keys
      .command('revoke <key>')
      .summary('refuse a key from now on, by its name or id')
      .option('--yes', 'do not ask')
      .action(act(revoke)),
    'dibs keys revoke mailer',
  );
}
