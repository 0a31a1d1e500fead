import { createAudit } from '../src/access/audit.ts';
import { canMakeKeys, type KeyAdmin, keyAdmin } from '../src/access/keyAdmin.ts';
import { newKey, newKeyId } from '../src/access/keyFormat.ts';
import { createCaller, type Scope } from '../src/caller.ts';
import type { Config } from '../src/config.ts';
import type { Database } from '../src/postgres/pool.ts';
import type { KeyInfo, MadeKey } from '../src/verbs/keys.ts';
import type { VerbName } from '../src/verbs.ts';
import { argumentsIn, misused } from './arguments.ts';
import { withDatabase } from './database.ts';
import { jsonFor, safe, safeLine } from './shown.ts';
import { suggestion } from './suggestion.ts';

const USAGE = `Usage: dibs keys <command>

  create NAME --scope SCOPE... [--queue PATTERN...] [--expires-in-seconds N] [--create]
                            create an access key and print it; scopes: produce, consume, read, admin;
                            patterns: 'mail', 'mail.*', '*' (the default); --create makes the database, if there is none
  create --print-only       print a new key for ADMIN_KEY_FILE, without a database
  list                      show all keys
  rotate NAME|ID [--overlap-seconds N]
                            print a new key in place of an old one, which stays valid for this long (3600); 0 for one that leaked
  revoke NAME|ID            refuse a key from now on

--json prints JSON. The database is that of DATABASE_URL, or the embedded one under DATA_DIR.
With --context, or with DIBS_URL and no DATABASE_URL or DATA_DIR, these commands ask that Dibs.
`;

const options = {
  scope: { type: 'string', multiple: true },
  queue: { type: 'string', multiple: true },
  'expires-in-seconds': { type: 'string' },
  'overlap-seconds': { type: 'string' },
  create: { type: 'boolean' },
  'print-only': { type: 'boolean' },
  json: { type: 'boolean' },
} as const;

type Options = ReturnType<typeof parse>['values'];

const COMMANDS: Record<string, readonly (keyof typeof options)[]> = {
  create: ['scope', 'queue', 'expires-in-seconds', 'create', 'print-only', 'json'],
  list: ['json'],
  rotate: ['overlap-seconds', 'json'],
  revoke: ['json'],
};

const parse = (args: string[]) => argumentsIn({ args, options, allowPositionals: true });

/** @throws UsageError for an option of another command */
function checkOptions(command: string, values: Options): void {
  for (const name of Object.keys(values) as (keyof Options)[])
    if (!COMMANDS[command]?.includes(name)) throw misused(`dibs keys ${command} has no option --${name}.`);
}

function seconds(values: Options, name: 'expires-in-seconds' | 'overlap-seconds'): number | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  if (!/^\d{1,8}(\.\d+)?$/.test(text)) throw misused(`--${name} must be a number of seconds, not "${text}".`);
  return Number(text);
}

const out = (text: string) => process.stdout.write(`${jsonFor(process.stdout, text)}\n`);
/** For people who look at a terminal. Standard output has the key alone. */
const say = (text: string) => process.stderr.write(`${safe(text)}\n`);

const LOCKED =
  'This is the first access key: every request needs one from now on. It cannot make others, so the API and the page are closed to ' +
  'you. `dibs keys create admin --scope admin` opens them.';

function show(made: MadeKey, values: Options, what: string): void {
  if (!values.json && process.stdout.isTTY)
    say(`${what} the access key "${made.name}" (${made.id}). It is shown this once.`);
  out(values.json ? JSON.stringify(made) : made.key);
}

async function allKeys(keys: KeyAdmin): Promise<KeyInfo[]> {
  const found: KeyInfo[] = [];
  for (let page: KeyInfo[] | undefined; page === undefined || page.length > 0; found.push(...page))
    page = await keys.list({ limit: 1000, after: found.at(-1)?.id });
  return found;
}

function stateOf({ revoked_at, expires_at }: KeyInfo): string {
  if (revoked_at !== null) return `revoked ${revoked_at}`;
  return expires_at === null ? '' : `ends ${expires_at}`;
}

function table(keys: KeyInfo[]): string {
  const rows = [
    ['NAME', 'ID', 'SCOPES', 'QUEUES', 'LAST USED', ''],
    ...keys.map((key) => [
      key.name,
      key.id,
      key.scopes.join(),
      key.queues.join(),
      key.last_used_at?.replace(/:\d\d\.\d+Z$/, 'Z') ?? 'never',
      stateOf(key),
    ]),
  ].map((row) => row.map(safeLine));
  const widths = rows[0]?.map((_, i) => Math.max(...rows.map((row) => (row[i] as string).length))) ?? [];
  return rows
    .map((row) =>
      row
        .map((cell, i) => cell.padEnd(widths[i] as number))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

/** Notes an act on a key. */
type Note = (verb: VerbName, key_id: string) => Promise<void>;

/** Whoever may write to the database. */
const COMMAND_LINE = createCaller({ id: undefined, name: 'dibs keys' }, { scopes: ['admin'], queues: ['*'] });

/** No guard is around a command, so it notes its acts itself. */
function noting(db: Database): Note {
  const audit = createAudit({
    db,
    log: (_, message) => say(`${message}.`),
    logAct: () => undefined,
  });
  const origin = { address: null, request_id: null };
  return (verb, key_id) => audit.note(COMMAND_LINE, origin, verb, { key_id }, performance.now());
}

async function run(
  command: string,
  target: string,
  values: Options,
  { keys, note }: { keys: KeyAdmin; note: Note },
): Promise<void> {
  if (command === 'create') {
    const isFirst = (await keys.list({ limit: 1 })).length === 0;
    const made = await keys.create({
      name: target,
      scopes: (values.scope ?? []) as Scope[],
      queues: values.queue,
      expires_in_seconds: seconds(values, 'expires-in-seconds'),
    });
    await note('createKey', made.id);
    show(made, values, 'Created');
    if (isFirst && !canMakeKeys(made)) say(LOCKED);
  } else if (command === 'rotate') {
    const overlap_seconds = seconds(values, 'overlap-seconds');
    const made = await keys.rotate({ id: await keys.find(target), overlap_seconds });
    await note('rotateKey', made.id);
    show(made, values, 'Rotated');
  } else if (command === 'revoke') {
    const id = await keys.find(target);
    await keys.revoke({ id });
    await note('revokeKey', id);
    out(values.json ? JSON.stringify({ id }) : `Revoked the access key ${id}.`);
  } else {
    const all = await allKeys(keys);
    out(values.json ? JSON.stringify({ keys: all }) : table(all));
  }
}

/** `dibs keys`. The configuration is read only if a database is needed. */
export async function keysCommand(args: string[], readConfig: () => Config): Promise<void> {
  const [command = '--help', ...rest] = args;
  if (command === '--help' || command === 'help') {
    process.stderr.write(USAGE);
    return;
  }
  if (!Object.hasOwn(COMMANDS, command))
    throw misused(`unknown command 'keys ${command}'${suggestion(command, Object.keys(COMMANDS))}`);
  const { values, positionals } = parse(rest);
  checkOptions(command, values);
  if (values['print-only']) {
    if (positionals.length > 0 || Object.keys(values).length > 1)
      throw misused('--print-only makes a key without a database, so it takes nothing else.');
    out(newKey(newKeyId()));
    return;
  }
  const [target = '', ...more] = positionals;
  if (more.length > 0 || (target === '') !== (command === 'list'))
    throw misused(`dibs keys ${command} takes ${command === 'list' ? 'no name' : 'one name'}.`);
  if (command === 'create' && !values.scope) throw misused('dibs keys create needs a --scope.');
  seconds(values, 'expires-in-seconds');
  seconds(values, 'overlap-seconds');
  await withDatabase(readConfig(), { mayCreate: values.create ?? false }, (db) =>
    run(command, target, values, {
      keys: keyAdmin({ db, changed: async () => undefined }),
      note: noting(db),
    }),
  );
}
