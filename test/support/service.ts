import { pino } from 'pino';
import { buildApp, openApiDocument } from '../../routes/app.ts';
import type { Access } from '../../src/access/access.ts';
import { startEngine } from '../../src/engine.ts';
import { createMemory } from '../../src/memory.ts';
import { openDatabase } from '../../src/postgres/pool.ts';
import { createDatabase } from './database.ts';
import { answerChecker } from './openapi.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

export interface Answer {
  status: number;
  headers: Record<string, string | undefined>;
  body: Json;
  text: string;
}

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH' | 'HEAD' | 'OPTIONS' | 'TRACE';

const document = openApiDocument(pino({ level: 'silent' }));

/** A replica in this process, not listening, on a new database or the one at `databaseUrl`. */
export async function startService(
  options: {
    databaseUrl?: string;
    maxPayloadBytes?: number;
    maxMemoryBytes?: number;
    metricsQueues?: number;
    requestTimeoutMs?: number;
    answerTimeoutMs?: number;
    webPages?: { hosts: string[]; origins: string[] };
    access?: Access;
  } = {},
) {
  const database = options.databaseUrl ? undefined : await createDatabase();
  const databaseUrl = options.databaseUrl ?? (database?.url as string);
  const errors: unknown[] = [];
  const db = openDatabase(databaseUrl, 10);
  const memory = createMemory(options.maxMemoryBytes);
  const engine = await startEngine({
    db,
    memory,
    metricsQueues: options.metricsQueues,
    listenUrl: databaseUrl,
    log: (error) => errors.push(error),
  });
  const app = await buildApp({
    engine,
    logger: pino({ level: 'silent' }),
    maxPayloadBytes: options.maxPayloadBytes ?? 2 ** 20,
    requestTimeoutMs: options.requestTimeoutMs,
    answerTimeoutMs: options.answerTimeoutMs,
    webPages: options.webPages,
    access: options.access,
  });
  const check = answerChecker(await document);

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
    });
    const answer: Answer = {
      status: response.statusCode,
      headers: response.headers as Record<string, string | undefined>,
      text: response.body,
      body:
        method !== 'HEAD' && /json/.test(String(response.headers['content-type']))
          ? JSON.parse(response.body)
          : undefined,
    };
    check(method, path, answer);
    return answer;
  }

  return {
    databaseUrl,
    db,
    engine,
    app,
    call,
    /** The errors that the engine logged. */
    errors,
    /** Listens on a free port, and returns the base URL. */
    listen: () => app.listen({ host: '127.0.0.1', port: 0 }),
    async stop() {
      engine.stopWaiting();
      await app.close();
      await engine.stop();
      await db.close();
      await database?.drop();
    },
  };
}

export type Service = Awaited<ReturnType<typeof startService>>;
