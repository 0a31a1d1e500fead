import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RawJson } from '../../clients/typescript/src/caller.ts';
import {
  changeJob,
  getJob,
  type Job,
  type JobChange,
  retryJob,
} from '../../clients/typescript/src/generated.ts';
import { shown } from '../shown.ts';
import { UsageError } from '../usage.ts';
import { type Cli, examples } from './cli.ts';
import { textIn } from './input.ts';
import { isJson, members, objectOf, pretty } from './jsonText.ts';
import type { Session } from './session.ts';

/** What may be changed of a job, as text: the payload with all of its digits. */
const textOf = (job: Job): string =>
  `${pretty(
    objectOf([
      ['payload', job.payload_text ?? 'null'],
      ['headers', JSON.stringify(job.headers)],
      ['priority', String(job.priority)],
      ['run_at', JSON.stringify(job.run_at)],
      ['max_attempts', String(job.max_attempts)],
    ]),
  )}\n`;

/** @throws UsageError when the editor fails, or leaves no file */
async function edited(file: string, { terminal }: Session): Promise<string> {
  const { env } = terminal;
  const editor = env.VISUAL || env.EDITOR || 'vi';
  const child = spawn('sh', ['-c', `${editor} "$1"`, 'sh', file], { stdio: 'inherit', env });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new UsageError(`The editor ended with ${code}: nothing was changed.`);
  return textIn(file, terminal);
}

/** The members that are not what they were. What was taken out stays as it is. */
function changesIn(before: string, after: string): [string, string][] {
  const old = members(before);
  return [...(members(after) ?? [])].filter(([name, value]) => old?.get(name) !== value);
}

async function edit(session: Session, options: { retry?: boolean }, id: string): Promise<undefined> {
  const { value: job } = await session.ask((caller) => getJob(caller, id, { payload_format: 'text' }));
  const folder = mkdtempSync(join(tmpdir(), 'dibs-edit-'));
  const file = join(folder, `${id}.json`);
  const before = textOf(job);
  writeFileSync(file, before, { mode: 0o600 });
  const clear = () => rmSync(folder, { recursive: true });
  const after = await edited(file, session).catch((error) => {
    clear();
    throw error;
  });
  try {
    if (!isJson(after) || !members(after))
      throw new UsageError('That is not a JSON object: nothing was changed.');
    const changes = changesIn(before, after);
    if (changes.length > 0) {
      const body = new RawJson(objectOf(changes)) as JobChange;
      const answer = await session.ask((caller) => changeJob(caller, id, body));
      const names = changes.map(([name]) => name).join(', ');
      if (!options.retry) session.show(answer, () => shown`${id}: changed ${names}.\n`);
    } else session.say(shown`Nothing was changed.`);
  } catch (error) {
    session.say(shown`What you wrote is in ${file}`);
    throw error;
  }
  clear();
  if (options.retry)
    session.show(
      await session.ask((caller) => retryJob(caller, id)),
      ({ state }) => shown`${id} is ${state}.\n`,
    );
}

export function add({ program, act }: Cli): void {
  examples(
    program
      .command('edit <id>')
      .summary('change a job that waits or is dead')
      .description(
        'Opens the payload, headers, priority, time and attempts of a job in $VISUAL or $EDITOR, and saves what you changed. If that is refused, your text is kept in a file.',
      )
      .option('--retry', 'make the job ready afterwards')
      .action(act(edit)),
    'dibs edit 01a1f5c2-77aa-7000-8000-0000000000c1 --retry',
  );
}
