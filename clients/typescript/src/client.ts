import { AccessKey, type KeyFunction } from './accessKey.ts';
import { type Call, type Caller, type CallOptions, RawJson } from './caller.ts';
import { ConnectionError, DibsError, isOfDibs } from './errors.ts';
import { messageOf } from './errorText.ts';
import type { Problem } from './generated.ts';
import { nodeProcess } from './node.ts';
import { type Answer, byFetch, defaultSend, type Send } from './send.ts';
import { checkedUrl, checkTime } from './settings.ts';
import { after } from './timer.ts';

export interface ClientOptions {
  /** Default: `http://127.0.0.1:8080`. */
  url?: string;
  /**
   * An access key or token. A function is asked before each request, so that a new one counts at once. While it fails, the request
   * waits like one without an answer.
   */
  key?: string | KeyFunction;
  /** A file with the key. It is read again when its key is refused, so that a new one counts without a restart. */
  keyFile?: string;
  /** How long to wait for an answer, beside what the request asks Dibs to wait. Default: 15. `Infinity`: for ever. */
  timeoutSeconds?: number;
  /** Default: `node:http` in Node, elsewhere the global one. */
  fetch?: typeof fetch;
}

/** The seconds for which the request asks Dibs to hold it: 60 at most. */
function waitOf({ body, query, headers }: Call): number {
  const given = body as { wait_seconds?: number } | undefined;
  const prefer = /\bwait=(\d+)/.exec(headers?.Prefer ?? '');
  const asked = Number(given?.wait_seconds ?? query?.wait_seconds ?? prefer?.[1] ?? 0);
  return Math.min(60, Math.max(0, asked || 0));
}

/** A number without an exponent: times to the millisecond. */
const inQuery = (value: string | number | boolean) =>
  String(typeof value === 'number' ? Number(value.toFixed(3)) : value);

function queryText(query: Call['query'] = {}): string {
  const given = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) given.set(name, inQuery(value));
  return [...given].length === 0 ? '' : `?${given}`;
}

/** For how long a key that was accepted may be refused: it is being replaced. */
const RENEWAL_MS = 60_000;
const RENEWAL_PAUSE_SECONDS = 2;
/** A longer Retry-After is not meant for a worker. */
const LONGEST_RETRY_AFTER = 60;
const now = () => performance.now();

/** One Dibs. The operations take it: `enqueueJob(client, {...})`. */
export class Client implements Caller {
  readonly url: string;
  readonly #key: AccessKey;
  readonly #timeoutSeconds: number;
  readonly #sendBy: Send;
  /** A request of this client had an answer of 2xx. */
  #wasAccepted = false;
  /** By the monotonic clock: the first 401 since the last answer of 2xx. */
  #refusedSince: number | undefined;

  /** @throws TypeError, RangeError when something given cannot work, now or later */
  constructor({ url, key, keyFile, timeoutSeconds = 15, fetch }: ClientOptions = {}) {
    this.url = checkedUrl(url || 'http://127.0.0.1:8080');
    this.#key = new AccessKey(key, keyFile);
    checkTime('timeoutSeconds', timeoutSeconds);
    this.#timeoutSeconds = timeoutSeconds;
    this.#sendBy = fetch ? byFetch(fetch) : defaultSend();
  }

  /** The Dibs of DIBS_URL, with the key of DIBS_KEY, or of the file DIBS_KEY_FILE. @throws TypeError */
  static fromEnv(env: Record<string, string | undefined> = nodeProcess().env ?? {}): Client {
    try {
      return new Client({ url: env.DIBS_URL, key: env.DIBS_KEY, keyFile: env.DIBS_KEY_FILE });
    } catch (error) {
      throw new TypeError(`${(error as Error).message} (DIBS_URL, DIBS_KEY, DIBS_KEY_FILE)`);
    }
  }

  /** @throws DibsError for an answer that is not 2xx, ConnectionError when none came */
  // biome-ignore lint/suspicious/noExplicitAny: the operation that calls it says what it answers.
  async request(call: Call, options: CallOptions = {}): Promise<any> {
    const { signal, timeoutSeconds, heard } = options;
    checkTime('timeoutSeconds', timeoutSeconds);
    const headers = headersOf(call);
    const body = call.body instanceof RawJson ? call.body.text : JSON.stringify(call.body);
    const ended = new AbortController();
    const limitMs = (timeoutSeconds ?? this.#timeoutSeconds + waitOf(call)) * 1000;
    const timer = after(limitMs, () => ended.abort(new Error(`no answer within ${limitMs} ms`)));
    const hangUp = () => ended.abort(signal?.reason);
    if (signal?.aborted) hangUp();
    signal?.addEventListener('abort', hangUp);
    let key = '';
    try {
      key = await this.#key.read(ended.signal);
      if (key !== '') headers.authorization = `Bearer ${key}`;
      const url = this.url + call.path + queryText(call.query);
      const sent = { method: call.method, headers, body, signal: ended.signal, heard };
      const answer = await this.#sendBy(url, sent);
      if (answer.status === 401 && this.#key.isRenewed(key)) return await this.request(call, options);
      return this.#read(call, answer, key);
    } catch (error) {
      if (error instanceof DibsError || error instanceof ConnectionError) throw error;
      if (signal?.aborted) throw signal.reason;
      const said = messageOf(error);
      const why = without(key, said);
      throw new ConnectionError(`${call.method} ${call.path}: ${why}`, why === said ? { cause: error } : {});
    } finally {
      timer.clear();
      signal?.removeEventListener('abort', hangUp);
    }
  }

  // biome-ignore lint/suspicious/noExplicitAny: see above.
  #read(call: Call, answer: Answer, key: string): any {
    if (answer.status < 200 || answer.status > 299) throw this.#refusal(answer, key);
    const { text } = answer;
    const value = call.asText ? text : text === '' ? undefined : parsed(text);
    this.#wasAccepted = true;
    this.#refusedSince = undefined;
    return value;
  }

  /** Something before Dibs, a proxy, may have answered: then there is no problem document of Dibs. */
  #refusal({ status, text, header }: Answer, key: string): DibsError {
    const asked = header('retry-after') ?? '';
    let retryAfter = /^\d+(\.\d+)?$/.test(asked) ? Math.min(Number(asked), LONGEST_RETRY_AFTER) : undefined;
    const problem = problemOf(text);
    if (!isOfDibs(problem)) {
      const page = without(key, text)
        .replaceAll(/[\p{Cc}\s]+/gu, ' ')
        .slice(0, 200)
        .trim();
      const detail = `HTTP ${status} of something before Dibs: ${page}`;
      const made = { type: 'about:blank', title: `HTTP ${status}`, status, detail, code: `http_${status}` };
      return new DibsError(made, retryAfter);
    }
    const refused = { ...problem, status } as Problem;
    if (status !== 401) return new DibsError(refused, retryAfter);
    this.#refusedSince ??= now();
    const passes = this.#wasAccepted && now() - this.#refusedSince < RENEWAL_MS;
    if (passes) retryAfter = Math.max(retryAfter ?? 0, RENEWAL_PAUSE_SECONDS);
    return new DibsError(refused, retryAfter, passes);
  }
}

/** @throws TypeError for what cannot be sent, now or later */
function headersOf(call: Call): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(call.headers ?? {})) {
    if (value === undefined) continue;
    if (!/^[\t\x20-\x7e\xa0-\xff]*$/.test(value))
      throw new TypeError(`the header ${name} has a character that no header may have`);
    headers[name.toLowerCase()] = value;
  }
  if (call.body !== undefined) headers['content-type'] = 'application/json';
  return headers;
}

const without = (key: string, text: string) => (key === '' ? text : text.replaceAll(key, '***'));

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('the answer is no JSON');
  }
}

function problemOf(text: string): Partial<Problem> {
  try {
    return JSON.parse(text) ?? {};
  } catch {
    return {};
  }
}
