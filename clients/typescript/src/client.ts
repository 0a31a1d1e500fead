import { type Call, type Caller, type CallOptions, RawJson } from './caller.ts';
import { ConnectionError, DibsError } from './errors.ts';
import type { Problem } from './generated.ts';
import { type Answer, byFetch, defaultSend, type Send } from './send.ts';

export interface ClientOptions {
  /** Default: `http://127.0.0.1:8080`. */
  url?: string;
  /** An access key or token. A function is asked before each request, so that a new one counts at once. */
  key?: string | (() => string | Promise<string>);
  /** How long to wait for an answer, beside what the request asks Dibs to wait. Default: 15. */
  timeoutSeconds?: number;
  /** Default: `node:http` in Node, elsewhere the global one. */
  fetch?: typeof fetch;
}

/** The seconds for which the request asks Dibs to hold it. */
function waitOf({ body, query, headers }: Call): number {
  const given = body as { wait_seconds?: number } | undefined;
  const prefer = /\bwait=(\d+)/.exec(headers?.Prefer ?? '');
  return Number(given?.wait_seconds ?? query?.wait_seconds ?? prefer?.[1] ?? 0);
}

function queryText(query: Call['query'] = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, String(value));
  return [...given].length === 0 ? '' : `?${given}`;
}

/** One Dibs. The operations take it: `enqueueJob(client, {...})`. */
export class Client implements Caller {
  readonly url: string;
  readonly #options: ClientOptions;
  readonly #sendBy: Send;

  constructor(options: ClientOptions = {}) {
    this.url = (options.url ?? 'http://127.0.0.1:8080').replace(/\/+$/, '');
    this.#options = options;
    this.#sendBy = options.fetch ? byFetch(options.fetch) : defaultSend();
  }

  /** @throws DibsError for an answer that is not 2xx, ConnectionError when none came */
  // biome-ignore lint/suspicious/noExplicitAny: the operation that calls it says what it answers.
  async request(call: Call, { signal, timeoutSeconds }: CallOptions = {}): Promise<any> {
    const answer = await this.#send(call, signal, timeoutSeconds);
    if (answer.status < 200 || answer.status > 299) throw refusal(answer);
    const { text } = answer;
    if (call.asText) return text;
    if (text === '') return undefined;
    try {
      return JSON.parse(text);
    } catch {
      throw new ConnectionError(`the answer of ${call.method} ${call.path} is no JSON`);
    }
  }

  async #send(call: Call, signal?: AbortSignal, timeoutSeconds?: number): Promise<Answer> {
    const { key, timeoutSeconds: patience = 15 } = this.#options;
    const ended = new AbortController();
    const limitMs = (timeoutSeconds ?? patience + waitOf(call)) * 1000;
    const timer = setTimeout(() => ended.abort(new Error(`no answer within ${limitMs} ms`)), limitMs);
    const hangUp = () => ended.abort(signal?.reason);
    if (signal?.aborted) hangUp();
    signal?.addEventListener('abort', hangUp);
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(call.headers ?? {}))
      if (value !== undefined) headers[name.toLowerCase()] = value;
    const bearer = typeof key === 'function' ? await key() : key;
    if (bearer) headers.authorization = `Bearer ${bearer}`;
    if (call.body !== undefined) headers['content-type'] = 'application/json';
    const body = call.body instanceof RawJson ? call.body.text : JSON.stringify(call.body);
    try {
      const { method } = call;
      return await this.#sendBy(this.url + call.path + queryText(call.query), {
        method,
        headers,
        body,
        signal: ended.signal,
      });
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      const { cause, message } = error as Error & { cause?: Error };
      throw new ConnectionError(`${call.method} ${call.path}: ${cause?.message || message}`, {
        cause: error,
      });
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', hangUp);
    }
  }
}

/** Something before Dibs, a proxy, may have answered: then there is no problem document. */
function refusal({ status, text, header }: Answer): DibsError {
  const seconds = Number(header('retry-after') ?? Number.NaN);
  let problem: Partial<Problem> = {};
  try {
    problem = JSON.parse(text) ?? {};
  } catch {
    problem = { detail: text.slice(0, 200) };
  }
  return new DibsError(
    {
      ...problem,
      type: problem.type ?? 'about:blank',
      title: problem.title ?? `HTTP ${status}`,
      status,
      detail: problem.detail ?? '',
      code: problem.code ?? `http_${status}`,
    },
    Number.isFinite(seconds) && seconds >= 0 ? seconds : undefined,
  );
}
