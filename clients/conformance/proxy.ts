import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

// biome-ignore lint/suspicious/noExplicitAny: promises look into requests of every kind.
type Json = any;

/** A request that went through, and what became of it. */
export interface Exchange {
  path: string;
  body: Json;
  /** When it came, in ms by the monotonic clock. */
  at: number;
  idempotencyKey: string | undefined;
  /** As the client sent it. Dibs does not get it: it needs no keys here. */
  authorization: string | undefined;
  /** What Dibs answered, or the proxy in its place. */
  status?: number;
  answer?: Json;
  /** How long Dibs took to answer, in ms. */
  tookMs?: number;
  /** The client was answered, or it hung up. */
  isOver: boolean;
}

/**
 * What is done to a request. `cut`: it never arrives. `lose`: Dibs does it, and the answer is lost. `hang`: it never arrives, and nobody says so.
 * `halve`: Dibs does it, and the connection breaks in the middle of the answer. `late`: the answer comes so much later. `status`: the proxy
 * answers in place of Dibs, with a problem document of Dibs, or with `text`, when what is to happen `first` has. `keep back`: the client gets nothing of an answer that goes on.
 */
export type Fault =
  | 'cut'
  | 'lose'
  | 'hang'
  | 'halve'
  | 'keep back'
  | { late: number }
  | {
      status: number;
      headers?: Record<string, string>;
      code?: string;
      text?: string;
      first?: () => Promise<unknown>;
    }
  | undefined;

const keepAlive = new Agent({ keepAlive: true });

/** A proxy before Dibs that does harm, and remembers all that went through. */
export async function startProxy(target: string) {
  const exchanges: Exchange[] = [];
  /** `POST /sessions`, which each worker sends. */
  const sessions: Exchange[] = [];
  const sockets = new Set<Socket>();
  const held = new Set<ServerResponse>();
  let to = target;
  let fault: (exchange: Exchange) => Fault = () => undefined;
  let sessionFault = fault;

  async function forward(incoming: IncomingMessage, body: Buffer, response: ServerResponse) {
    const { host: _, connection: __, authorization: ___, ...headers } = incoming.headers;
    return new Promise<IncomingMessage>((resolve, reject) => {
      const out = request(to + incoming.url, { method: incoming.method, headers, agent: keepAlive }, resolve);
      out.on('error', reject);
      // A client that hangs up must be seen by Dibs, too.
      response.on('close', () => response.writableFinished || out.destroy());
      out.end(body);
    });
  }

  /** An answer that goes on is passed on as it comes. */
  function passOn(answer: IncomingMessage, exchange: Exchange, response: ServerResponse, isKept: boolean) {
    exchange.status = answer.statusCode ?? 0;
    answer.once('data', (first: Buffer) => {
      exchange.answer = parsed(Buffer.from(first.toString().split('\n')[0] as string));
    });
    answer.on('error', () => response.destroy());
    held.add(response);
    response.on('close', () => held.delete(response));
    if (isKept) return void answer.resume();
    response.writeHead(exchange.status, { 'content-type': answer.headers['content-type'] });
    response.flushHeaders();
    answer.pipe(response);
  }

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(incoming);
    const key = incoming.headers['idempotency-key'];
    const exchange: Exchange = {
      path: (incoming.url ?? '').split('?')[0] as string,
      body: parsed(body),
      at: performance.now(),
      idempotencyKey: typeof key === 'string' ? key : undefined,
      authorization: incoming.headers.authorization,
      isOver: false,
    };
    const isSession = exchange.path.endsWith('/sessions');
    (isSession ? sessions : exchanges).push(exchange);
    response.on('close', () => {
      exchange.isOver = true;
    });
    const harm = (isSession ? sessionFault : fault)(exchange);
    if (harm === 'cut') return void incoming.socket.destroy();
    if (harm === 'hang') return;
    if (typeof harm === 'object' && 'status' in harm) {
      exchange.status = harm.status;
      const { status, code = 'unavailable', text, headers, first } = harm;
      await first?.();
      const problem = {
        type: `urn:problem-type:dibs:${code}`,
        title: code,
        status,
        detail: 'The proxy says so.',
        code,
      };
      response.writeHead(status, { 'content-type': 'application/problem+json', ...headers });
      return void response.end(text ?? JSON.stringify({ ...problem, outcome: 'not_done' }));
    }
    const answer = await forward(incoming, body, response);
    if (isHeld(answer)) return passOn(answer, exchange, response, harm === 'keep back');
    const whole = await buffer(answer);
    const status = answer.statusCode ?? 0;
    exchange.status = status;
    exchange.tookMs = performance.now() - exchange.at;
    exchange.answer = parsed(whole);
    if (harm === 'lose') return void incoming.socket.destroy();
    const { 'transfer-encoding': _, connection: __, ...headers } = answer.headers;
    if (harm === 'halve') {
      response.writeHead(status, { ...headers, 'content-length': whole.length });
      response.write(whole.subarray(0, whole.length / 2), () => incoming.socket.destroy());
      return;
    }
    if (typeof harm === 'object') await sleep(harm.late);
    response.writeHead(status, headers).end(whole);
  }

  const server = createServer((incoming, response) => {
    serve(incoming, response).catch(() => incoming.socket.destroy());
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    exchanges,
    sessions,
    /** What is done to each request from now on. To those for sessions, nothing is done. */
    harm(decide: (exchange: Exchange) => Fault) {
      fault = decide;
    },
    /** What is done to each request for a session from now on. */
    harmSessions(decide: (exchange: Exchange) => Fault) {
      sessionFault = decide;
    },
    heal() {
      fault = () => undefined;
      sessionFault = fault;
    },
    /** Breaks the connections that hold sessions. */
    breakSessions() {
      for (const response of held) response.destroy();
    },
    /** Sends requests elsewhere from now on. */
    aim(url: string) {
      to = url;
    },
    /** Breaks all connections. */
    breakAll() {
      for (const socket of sockets) socket.destroy();
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

export type BadProxy = Awaited<ReturnType<typeof startProxy>>;

function parsed(body: Buffer): Json {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

/** The answer of `POST /sessions` does not end. */
const isHeld = ({ headers }: IncomingMessage) =>
  headers['content-type']?.startsWith('application/x-ndjson') ?? false;

// ---- What a request says

/** It asks for jobs: a claim, or a settlement with one. */
export const claimIn = ({ path, body }: Exchange): Json | undefined =>
  path === '/jobs/claim' ? body : path === '/jobs/settle' ? body?.claim : undefined;
export const waits = (exchange: Exchange): boolean => (claimIn(exchange)?.wait_seconds ?? 0) > 0;

/** The settlements of a request, as `[verb, id]`. */
export function settledIn({ path, body }: Exchange): [string, string][] {
  if (path !== '/jobs/settle') {
    const single = /^\/jobs\/([^/]+)\/(ack|nack|release)$/.exec(path);
    return single ? [[single[2] as string, single[1] as string]] : [];
  }
  return (['ack', 'nack', 'release'] as const).flatMap((verb) =>
    (body?.[`${verb}s`] ?? []).map(({ id }: { id: string }): [string, string] => [verb, id]),
  );
}

/** The ids that a request extends. */
export function extendedIn({ path, body }: Exchange): string[] {
  const single = /^\/jobs\/([^/]+)\/extend$/.exec(path);
  if (single) return [single[1] as string];
  return path === '/jobs/settle' ? (body?.extends ?? []).map(({ id }: { id: string }) => id) : [];
}
