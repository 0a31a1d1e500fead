import type { Readable } from 'node:stream';
import { type Logger, pino } from 'pino';
import { buildApp } from '../../routes/app.ts';
import type { Certificates } from '../../routes/http/security/certificates.ts';
import type { WebPages } from '../../routes/http/security/webPages.ts';
import {
  type Access,
  type Auth,
  createAccess,
  type RefusedCredential,
  type Tokens,
} from '../../src/access/access.ts';
import type { HttpLimits } from '../../src/config/limits.ts';
import type { Rates } from '../../src/config/rates.ts';
import { type EngineOptions, startEngine } from '../../src/engine.ts';
import { isOutage } from '../../src/errors.ts';
import { createMemory } from '../../src/memory.ts';
import { openDatabase } from '../../src/postgres/pool.ts';
import { asRole, createDatabase, SERVING_ROLE } from './database.ts';
import { givesAllBack } from './ledger.ts';
import { checkAnswer } from './openapi.ts';
import { openOthers, othersOf } from './severalDatabases.ts';
import { until } from './until.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

export interface Answer {
  status: number;
  headers: Record<string, string | undefined>;
  body: Json;
  text: string;
}

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH' | 'HEAD' | 'OPTIONS' | 'TRACE';

/** What has come of an answer that does not end. */
async function begun(answer: Readable): Promise<string> {
  for await (const part of answer) return String(part);
  return '';
}

/**
 * A replica in this process, not listening, on a new database or the one at `databaseUrl`. It serves with the privileges
 * of the serving role.
 */
export async function startService(
  options: {
    databaseUrl?: string;
    /** Serves as the role of `databaseUrl`. */
    asOwner?: boolean;
    maxPayloadBytes?: number;
    maxMemoryBytes?: number;
    metricsQueues?: number;
    newQueuesPerSecond?: number;
    rescueGraceSeconds?: number;
    limits?: Partial<HttpLimits>;
    certificates?: Certificates;
    trustProxy?: string[];
    /** Each line of the log, as an object. */
    onLog?: (line: Json) => void;
    webPages?: WebPages;
    access?: Access;
    auth?: Auth;
    /** Whose tokens count beside keys. */
    tokens?: Tokens;
    /** Where to LISTEN, if not at `databaseUrl`. */
    listenUrl?: string;
    logger?: Logger;
    /** There is an SDK that takes spans. */
    traces?: boolean;
    rates?: Partial<Rates>;
    allowedOrigins?: string[];
    traceUrl?: string;
    /** When its duties rest. */
    restTimes?: EngineOptions['restTimes'];
    /** The URLs of the databases beside home, by their names. */
    others?: Record<string, string>;
  } = {},
) {
  const database = options.databaseUrl ? undefined : await createDatabase();
  const databaseUrl = options.databaseUrl ?? (database?.url as string);
  const { onLog } = options;
  const errors: unknown[] = [];
  const acts: Json[] = [];
  const served = (url: string) => (options.asOwner ? url : asRole(url, SERVING_ROLE));
  const servingUrl = served(databaseUrl);
  const db = openDatabase(servingUrl, 10);
  const given = options.others ?? (await othersOf(databaseUrl));
  const beside = await openOthers(
    db,
    Object.fromEntries(Object.entries(given).map(([name, url]) => [name, served(url)])),
  );
  const memory = createMemory(options.maxMemoryBytes);
  const built = new AbortController();
  const engine = await startEngine({
    db,
    others: beside.others,
    memory,
    metricsQueues: options.metricsQueues,
    newQueuesPerSecond: options.newQueuesPerSecond,
    rescueGraceSeconds: options.rescueGraceSeconds,
    reachable: new Promise((resolve) => built.signal.addEventListener('abort', resolve)),
    traces: options.traces,
    listenUrl: options.listenUrl ?? servingUrl,
    restTimes: options.restTimes,
    log: (error) => errors.push(error),
    logAct: (fields) => acts.push(fields),
  });
  // As serve.ts does: before the keys are known, requests without one are refused. A busy machine may take a while.
  await until(() =>
    engine.keys.refresh().then(
      () => true,
      (error: unknown) => {
        if (!isOutage(error)) throw error;
      },
    ),
  );
  const refused: RefusedCredential[] = [];
  const app = await buildApp({
    engine,
    logger:
      options.logger ??
      (onLog
        ? pino({ level: 'info' }, { write: (line) => onLog(JSON.parse(line)) })
        : pino({ level: 'silent' })),
    maxPayloadBytes: options.maxPayloadBytes ?? 2 ** 20,
    limits: options.limits,
    certificates: options.certificates,
    trustProxy: options.trustProxy,
    webPages: options.webPages,
    access:
      options.access ??
      createAccess({
        auth: options.auth,
        keys: engine.keys,
        tokens: options.tokens,
        refused: (why) => refused.push(why),
      }),
    rates: options.rates,
    allowedOrigins: options.allowedOrigins,
    traceUrl: options.traceUrl,
  });

  built.abort();

  /** A request. Its answer must agree with the OpenAPI document. `body` is sent as JSON, but a string as it is. */
  async function call(
    method: Method,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer> {
    const response = await app.inject({
      // Its types do not know TRACE.
      method: method as Exclude<Method, 'TRACE'>,
      url: path,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      payload: body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body),
      payloadAsStream: path === '/sessions',
    });
    const text = path === '/sessions' ? await begun(response.stream()) : response.body;
    // The client of a session hangs up.
    if (path === '/sessions') response.raw.res.req.socket.emit('close');
    const answer: Answer = {
      status: response.statusCode,
      headers: response.headers as Record<string, string | undefined>,
      text,
      body:
        method !== 'HEAD' && /json/.test(String(response.headers['content-type']))
          ? JSON.parse(text)
          : undefined,
    };
    checkAnswer(method, path, answer);
    return answer;
  }

  return {
    databaseUrl,
    db,
    /** Its pools, of home and of the databases beside it. */
    pools: [db, ...beside.pools],
    engine,
    app,
    call,
    /** The errors that the engine logged. */
    errors,
    /** Why credentials were refused. */
    refused,
    /** The lines that the engine logged of acts. */
    acts,
    /** Listens on a free port, and returns the base URL. */
    listen: (host = '127.0.0.1') => app.listen({ host, port: 0 }),
    async stop() {
      engine.stopWaiting();
      await app.close();
      await engine.stop();
      await db.close();
      await beside.close();
      await database?.drop();
      await givesAllBack(engine);
    },
  };
}

export type Service = Awaited<ReturnType<typeof startService>>;
