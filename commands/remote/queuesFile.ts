import { createReadStream } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { DibsError } from '../../clients/typescript/src/errors.ts';
import { type Place, planFor } from '../../queuesFile/apply.ts';
import { isDone, type Now, type Plan } from '../../queuesFile/plan.ts';
import { FileError } from '../../queuesFile/problem.ts';
import { type QueuesFile, readQueuesFile } from '../../queuesFile/read.ts';
import { fileJson, fileOf, fileYaml } from '../../queuesFile/write.ts';
import { MOST_BYTES } from '../../queuesFile/yaml.ts';
import { counted } from '../counted.ts';
import { shown } from '../shown.ts';
import { UsageError } from '../usage.ts';
import { type Cli, examples, STATUS } from './cli.ts';
import { unreadable } from './input.ts';
import { remotePlace } from './place.ts';
import { leftText, planJson, planText } from './planText.ts';
import type { Session } from './session.ts';

interface Options {
  prune?: boolean;
  yes?: boolean;
}

/** The bytes of a file, or of standard input for `-`: no more than a queues file may have, and one. @throws UsageError */
async function bytesIn(file: string, { stdin }: Session['terminal']): Promise<Uint8Array> {
  try {
    return await buffer(file === '-' ? stdin : createReadStream(file, { end: MOST_BYTES }));
  } catch (error) {
    throw unreadable(file, error);
  }
}

/** @throws UsageError that names each line with a problem */
async function read(file: string, session: Session): Promise<QueuesFile> {
  const bytes = await bytesIn(file, session.terminal);
  try {
    return readQueuesFile(bytes);
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    const name = file === '-' ? 'Standard input' : file;
    throw new UsageError(`${name} is not a valid queues file. Nothing was done.\n${error.message}`);
  }
}

function show(session: Session, plan: Plan): void {
  if (session.isJson) session.json(planJson(plan));
  else session.out(planText(plan, session.paint));
}

async function diff(session: Session, { prune = false }: Options, file: string): Promise<number> {
  const { wish } = await read(file, session);
  const { plan } = await planFor(remotePlace(session), wish, prune);
  show(session, plan);
  return isDone(plan) ? STATUS.done : STATUS.differs;
}

/** Makes the changes one after the other. Returns how many were made. */
async function makeAll(
  session: Session,
  { plan: { changes }, make }: Awaited<ReturnType<typeof planFor>>,
): Promise<number> {
  let made = 0;
  for (const change of changes) {
    const { kind, name } = change;
    const isMade = await make(change).catch((error) => {
      session.say(
        shown`${counted(made, 'change', { one: 'was', many: 'were' })} made, and no more: ${kind} ${JSON.stringify(name)} was refused.`,
      );
      throw error;
    });
    if (isMade) made++;
    else session.say(shown`Queue ${JSON.stringify(name)} is kept: it has jobs now.`);
  }
  return made;
}

async function apply(session: Session, options: Options, file: string): Promise<number> {
  const { wish } = await read(file, session);
  const planned = await planFor(remotePlace(session), wish, options.prune ?? false);
  const { plan } = planned;
  show(session, plan);
  const deleted = plan.changes.filter(({ action }) => action === 'delete');
  if (deleted.length > 0) {
    const names = deleted.map(({ kind, name }) => `${kind} ${JSON.stringify(name)}`).join(', ');
    await session.confirm(shown`This deletes ${names}, for ever.`, options);
  }
  if (plan.changes.length > 0) {
    const made = await makeAll(session, planned);
    if (!session.isJson) session.out(shown`${counted(made, 'change', { one: 'is', many: 'are' })} made.\n`);
  }
  const left = leftText(plan);
  if (left.text === '') return STATUS.done;
  session.say(
    shown`The rest is for you: ${counted(plan.keys.length + plan.elsewhere.length, 'difference')} as above.`,
  );
  return STATUS.failed;
}

/** Access keys are for administrators of all queues. Whoever is not gets the rest. */
async function visibleKeys(place: Place, session: Session): Promise<Now['keys'] | undefined> {
  try {
    return await place.keys();
  } catch (error) {
    if (!(error instanceof DibsError && error.code === 'forbidden')) throw error;
    session.say(shown`Without access keys: ${error.message}`);
    return undefined;
  }
}

async function dump(session: Session): Promise<number> {
  const place = remotePlace(session);
  const now = {
    queues: await place.queues(),
    schedules: await place.schedules(),
    keys: await visibleKeys(place, session),
  };
  const file = fileOf(now);
  const text = session.isJson ? fileJson(file) : fileYaml(file, `${session.client.url}/queues.schema.json`);
  session.json(text);
  try {
    readQueuesFile(Buffer.from(text));
    return STATUS.done;
  } catch (error) {
    if (!(error instanceof FileError)) throw error;
    session.say(shown`\`dibs apply\` takes no such file: ${error.message}`);
    return STATUS.failed;
  }
}

export function add({ program, act }: Cli): void {
  examples(
    program
      .command('apply <file>')
      .summary('make queues and schedules as a file says')
      .description(
        'Shows how queues and schedules differ from a file (YAML; "-": standard input), and then changes what differs, and nothing else. ' +
          'Access keys are compared, and never changed: it tells what to run, and ends with 1. See docs/queues-as-code.md.',
      )
      .option('--prune', 'also delete schedules, and queues without jobs, that the file does not name')
      .option('--yes', 'do not ask before something is deleted')
      .action(act(apply)),
    'dibs apply queues.yaml',
    'dibs apply queues.yaml --prune --yes',
  );
  examples(
    program
      .command('diff <file>')
      .summary('say how queues and schedules differ from a file')
      .description(
        'Changes nothing. The exit status is 0 when nothing differs, 2 when something does, and 1 for an error, a wrong file or command line.',
      )
      .option('--prune', 'also say what `dibs apply --prune` would delete')
      .action(act(diff)),
    'dibs diff queues.yaml',
  );
  examples(
    program
      .command('dump')
      .summary('print queues, schedules and access keys as such a file')
      .description(
        'Prints YAML that `dibs apply` takes: what is not the default. Access keys come without their secrets.',
      )
      .action(act(dump)),
    'dibs dump > queues.yaml',
  );
}
