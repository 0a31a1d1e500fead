import { randomUUID } from 'node:crypto';
import { Client } from '../../clients/typescript/src/client.ts';
import { ConnectionError } from '../../clients/typescript/src/errors.ts';
import { getHealth } from '../../clients/typescript/src/generated.ts';
import { readConfig } from '../../src/config.ts';
import { addressOf, USUAL_ADDRESS } from '../banner.ts';
import { count, counted } from '../counted.ts';
import { mark, unmark, untilUnmarked } from '../demo/mark.ts';
import { play, prepare, type Tally } from '../demo/play.ts';
import { QUEUES } from '../demo/queues.ts';
import { Shown, shown, shownTogether } from '../shown.ts';
import { UsageError } from '../usage.ts';
import { type Cli, examples, number } from './cli.ts';
import { isTargetNamed, targetOf } from './contexts.ts';
import type { GlobalOptions, Session } from './session.ts';
import { lasting, untilEnded } from './terminal.ts';

interface Options extends GlobalOptions {
  seconds?: number;
  stop?: boolean;
}

interface Place {
  client: Client;
  stop(): Promise<void>;
}

const SECONDS = 1800;
const TALLY_MS = 1000;

const LOOK: [command: string, what: string][] = [
  ['dibs top', 'all queues, those with trouble first'],
  ['dibs jobs --queue demo.payments --state dead', 'jobs that are dead'],
  ['dibs history JOB', 'what happened to one of these'],
  ['dibs explain --queue demo.webhooks', 'why a claim gets nothing'],
  ['dibs retry --queue demo.payments --error-contains timeout', 'try some again'],
  ['dibs resume demo.newsletter', 'let a paused queue go on'],
];

const columns = (rows: [string, string][]): Shown => {
  const width = Math.max(...rows.map(([left]) => left.length)) + 2;
  return shownTogether(rows.map(([left, right]) => shown`  ${new Shown(left.padEnd(width))}${right}\n`));
};

/** What lets other commands find the Dibs of the demo, where they would ask another one. */
function exported(
  { terminal: { env } }: Session,
  { context = env.DIBS_CONTEXT }: Options,
  url: string,
): string[] {
  if (context !== undefined) return [`export DIBS_CONTEXT=${context}`];
  const { DIBS_URL: _, ...rest } = env;
  const { url: asked = USUAL_ADDRESS } = targetOf(rest);
  return asked === url ? [] : [`export DIBS_URL=${url}`];
}

const welcome = (
  url: string,
  seconds: number,
  first: string[],
): Shown => shown`The demo is at work at ${url} for ${lasting(seconds)}: eight queues, some 8 jobs a second.

${columns(QUEUES.map(({ name, shows }) => [name, shows]))}
Look at these (without \`npm link\`, dibs is \`npx dibs\`):
${columns([[`${url}/`, 'the dashboard'], ...first.map((line): [string, string] => [line, 'so that these ask this Dibs']), ...LOOK])}
Ctrl-C ends it and leaves the jobs. \`dibs demo --stop\` takes them away.`;

const soFar = ({ enqueued, done, failed }: Tally) =>
  shown`${count(enqueued)} enqueued, ${count(done)} done, ${count(failed)} attempts failed`;

/** The Dibs that is named, else the one that the environment configures on this machine. Undefined where its port is any. */
function clientOf({ terminal: { env }, client }: Session, { context }: Options): Client | undefined {
  if (context !== undefined || isTargetNamed(env)) return client;
  const config = readConfig(env);
  return config.port === 0
    ? undefined
    : new Client({ ...targetOf(env, undefined), url: addressOf(config, config.port) });
}

/** Whether a Dibs is there, or something else that answers: the demo will hear what that says. */
const answers = (client: Client): Promise<boolean> =>
  getHealth(client).then(
    () => true,
    (error) => !(error instanceof ConnectionError),
  );

/** Where the demo plays. It starts a Dibs of its own where none is named and none is there. */
async function placeOf(session: Session, options: Options): Promise<Place> {
  const client = clientOf(session, options);
  if (client && (client === session.client || (await answers(client))))
    return { client, stop: async () => undefined };
  session.say(shown`No Dibs runs here, so the demo starts one.`);
  const { startOwnDibs } = await import('../demo/ownDibs.ts');
  const { env } = session.terminal;
  const { url, stop } = await startOwnDibs(session.terminal, session.paint);
  return { client: new Client({ ...targetOf(env, undefined), url }), stop };
}

/** Shows how far it is, on a terminal. */
function watching({ stderr }: Session['terminal'], tally: Tally): () => void {
  if (!stderr.isTTY) return () => undefined;
  const timer = setInterval(() => stderr.write(`\r\x1b[K${soFar(tally).text}`), TALLY_MS);
  return () => {
    clearInterval(timer);
    stderr.write('\r\x1b[K');
  };
}

async function start(session: Session, options: Options): Promise<undefined> {
  const { signal, end, release } = untilEnded(session.terminal);
  const place = await placeOf(session, options);
  const run = randomUUID();
  const seconds = options.seconds ?? SECONDS;
  const timer = setTimeout(end, seconds * 1000);
  const tally: Tally = { enqueued: 0, done: 0, failed: 0 };
  try {
    await mark(place.client, run);
    tally.enqueued = await prepare(place.client);
    session.say(welcome(place.client.url, seconds, exported(session, options, place.client.url)));
    void untilUnmarked(place.client, run, signal).then(end);
    const unwatch = watching(session.terminal, tally);
    await play(place.client, tally, signal).finally(unwatch);
    if (session.isJson) session.json(JSON.stringify({ url: place.client.url, ...tally }));
    else
      session.say(shown`The demo has ended: ${soFar(tally)}. \`dibs demo --stop\` takes away what it made.`);
  } finally {
    clearTimeout(timer);
    await place.stop();
    release();
  }
}

async function stop(session: Session, options: Options): Promise<undefined> {
  const client = clientOf(session, options);
  if (client === undefined)
    throw new UsageError('PORT=0 says not where Dibs is: DIBS_URL or --context does.');
  const gone = await unmark(client);
  if (session.isJson) session.json(JSON.stringify({ url: client.url, deleted: gone ?? [] }));
  else if (gone)
    session.say(
      shown`The demo is gone from ${client.url}: ${counted(gone.length, 'queue')} and its schedule.`,
    );
  else session.say(shown`There is no demo at ${client.url}: nothing was done.`);
}

async function demo(session: Session, options: Options): Promise<undefined> {
  if (!options.stop) return start(session, options);
  if (options.seconds !== undefined)
    throw new UsageError('--stop ends a demo at once: it takes no --seconds.');
  return stop(session, options);
}

export function add({ program, act }: Cli): void {
  examples(
    program
      .command('demo')
      .summary('fill a Dibs with example queues, workers and failures')
      .description(
        'Makes eight queues with producers, workers, failures, a schedule, groups and a batch, so that there is something to look at. It starts a Dibs where none runs. It makes nothing but the queues "demo.*" that it lists and the schedule "demo.reports", and needs the scope admin where there are keys.',
      )
      .option('--seconds <n>', `how long (default: ${SECONDS})`, number(1, 86_400))
      .option('--stop', 'end it, and delete what it made')
      .action(act(demo)),
    'dibs demo',
    'dibs demo --stop',
  );
}
