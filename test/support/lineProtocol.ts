import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { type Caller, createCaller } from '../../src/caller.ts';
import { Refusal } from '../../src/errors.ts';
import { RawJson } from '../../src/job.ts';
import type { Engine, Verbs } from '../../src/verbs.ts';

/*
 * A small second protocol, as a proof: it knows the page of verbs and plain things, and no room behind them. Each line of a connection is
 * a request, answered in order by one line.
 *
 *   hello <key>                          + <name>
 *   enqueue <queue> <payload>            + <id>
 *   enqueue-at <time> <queue> <payload>  + <id>
 *   claim <queue> <wait_seconds>         + <id> <lease token> <payload>, or - where there is no job
 *   ack <id> <lease token>               + completed
 *   what is refused                      ! <code> <field> <why>
 */

interface Connection {
  verbs: Verbs;
  onHangup(gone: () => void): void;
}

type Command = (args: string[], connection: Connection) => Promise<string>;

async function enqueue(verbs: Verbs, [queue = '', ...payload]: string[], when: { run_at?: string }) {
  const jobs = [{ ...when, queue, payload: new RawJson(payload.join(' ')) }];
  const [job] = await verbs.enqueue({ jobs, at: () => '' });
  return `+ ${job?.id}`;
}

const COMMANDS: Record<string, Command> = {
  enqueue: (args, { verbs }) => enqueue(verbs, args, {}),
  'enqueue-at': ([run_at = '', ...args], { verbs }) => enqueue(verbs, args, { run_at }),
  async claim([queue = '', wait = '0'], { verbs, onHangup }) {
    const [job] = await verbs.claim({ queues: [queue], wait_seconds: Number(wait), onHangup });
    return job ? `+ ${job.id} ${job.lease_token} ${job.payload}` : '-';
  },
  async ack([id = '', lease_token = ''], { verbs }) {
    const { state } = await verbs.ack({ id, lease_token, at: () => '' });
    return `+ ${state}`;
  },
};

function refused(error: unknown): string {
  if (!(error instanceof Refusal)) throw error;
  const field = error.errors?.map(({ path }) => path.slice(1)).join() || '-';
  return `! ${error.code} ${field} ${error.message}`;
}

function serve(socket: Socket, engine: Pick<Engine, 'as'>, callers: Map<string, Caller>): void {
  const waits = new Set<() => void>();
  const gone = () => {
    for (const tell of waits) tell();
  };
  let verbs = engine.as(createCaller({ id: 'nobody', name: 'nobody' }, { scopes: [], queues: [] }));
  const hello = async ([key = '']: string[]) => {
    const caller = callers.get(key);
    if (!caller) throw new Refusal('unauthorized', 'Nobody has this key.');
    verbs = engine.as(caller);
    return `+ ${caller.name}`;
  };
  const answer = async (line: string) => {
    const [name = '', ...args] = line.split(' ');
    if (name === 'hello') return hello(args);
    const command = COMMANDS[name];
    if (!command) throw new Refusal('invalid_request', `There is no command ${name}.`);
    return command(args, { verbs, onHangup: (tell) => waits.add(tell) });
  };
  let before = Promise.resolve();
  createInterface(socket).on('line', (line) => {
    before = before.then(async () => {
      const text = await answer(line).catch(refused);
      waits.clear();
      if (socket.writable) socket.write(`${text}\n`);
    });
  });
  socket.on('close', gone).on('error', gone);
}

/** Serves an engine. `callers` says whose each key is. */
export const lineServer = (engine: Pick<Engine, 'as'>, callers: Map<string, Caller>) =>
  createServer((socket) => serve(socket, engine, callers));
