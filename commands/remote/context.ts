import { Client } from '../../clients/typescript/src/client.ts';
import { shown } from '../shown.ts';
import { parsed, UsageError } from '../usage.ts';
import { type Cli, examples } from './cli.ts';
import { fileOf, readContexts, writeContexts } from './contexts.ts';
import { textIn } from './input.ts';
import type { Session } from './session.ts';
import { table } from './table.ts';

async function list(session: Session): Promise<undefined> {
  const { current, contexts } = readContexts(session.terminal.env);
  const found = Object.entries(contexts).map(([name, { url, key }]) => ({
    name,
    url: url ?? '',
    has_key: key !== undefined,
    current: name === current,
  }));
  if (session.isJson) session.json(JSON.stringify({ contexts: found }));
  else if (found.length === 0) session.out(shown`No contexts.\n`);
  else {
    const rows = found.map(({ name, url, has_key, current: isCurrent }) => [
      isCurrent ? '*' : '',
      name,
      url,
      has_key ? 'yes' : 'no',
    ]);
    session.out(table(['', 'NAME', 'URL', 'KEY'], rows, session.terminal.stdout, session.paint));
  }
}

async function set(
  session: Session,
  options: { url?: string; keyFile?: string },
  name: string,
): Promise<undefined> {
  const { env } = session.terminal;
  const { current, contexts } = readContexts(env);
  const before = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  const url = options.url ?? before?.url;
  if (url === undefined)
    throw new UsageError('--url must say where Dibs is, such as https://dibs.example.com.');
  parsed(() => new Client({ url }), ' (--url)');
  const keyText =
    options.keyFile === undefined ? undefined : (await textIn(options.keyFile, session.terminal)).trim();
  if (keyText === '') throw new UsageError(`${options.keyFile} has no key.`);
  parsed(() => new Client({ url, key: keyText }), ' (--key-file)');
  // A key is for one Dibs: at another address the old one is not kept.
  const key = keyText ?? (url === before?.url ? before?.key : undefined);
  writeContexts(env, { current: current ?? name, contexts: { ...contexts, [name]: { url, key } } });
  session.say(shown`Context "${name}" is ${url}, in ${fileOf(env)}.`);
}

async function use(session: Session, _options: object, name: string): Promise<undefined> {
  const { env } = session.terminal;
  const { contexts } = readContexts(env);
  if (!Object.hasOwn(contexts, name)) throw new UsageError(`There is no context "${name}".`);
  writeContexts(env, { current: name, contexts });
  session.say(
    shown`Commands talk to ${contexts[name]?.url} now, unless DIBS_URL, DIBS_KEY, DIBS_KEY_FILE or --context says otherwise.`,
  );
}

async function remove(session: Session, _options: object, name: string): Promise<undefined> {
  const { env } = session.terminal;
  const { current, contexts } = readContexts(env);
  if (!Object.hasOwn(contexts, name)) throw new UsageError(`There is no context "${name}".`);
  const { [name]: _, ...rest } = contexts;
  writeContexts(env, { current: current === name ? undefined : current, contexts: rest });
  session.say(shown`Context "${name}" is forgotten.`);
}

export function add({ program, act }: Cli): void {
  const context = program
    .command('context')
    .summary('save addresses and keys by name')
    .description(
      'Keeps addresses and keys by name, in ~/.config/dibs/config.json (or DIBS_CONFIG), which only you may read.\n\n' +
        'A command talks to: --context or DIBS_CONTEXT; else DIBS_URL with DIBS_KEY or DIBS_KEY_FILE; else the context in use; else http://127.0.0.1:8080.',
    )
    .helpCommand(false);
  examples(
    context.command('list', { isDefault: true }).summary('list contexts').action(act(list)),
    'dibs context',
  );
  examples(
    context
      .command('set <name>')
      .summary('add or change a context')
      .option('--url <url>', 'where Dibs is')
      .option('--key-file <file>', 'a file with its access key or token ("-": standard input)')
      .action(act(set)),
    'dibs context set prod --url https://dibs.example.com --key-file ./key',
  );
  examples(
    context.command('use <name>').summary('use this context from now on').action(act(use)),
    'dibs context use prod',
  );
  examples(
    context.command('delete <name>').summary('delete a context').action(act(remove)),
    'dibs context delete prod',
  );
}
