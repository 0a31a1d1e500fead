import type { Caller, Scope } from './types.ts';

const KEY = 'dibs-key';

/** The key stays in this tab: it is gone when the tab is closed. */
export const keyStore = {
  get: () => sessionStorage.getItem(KEY) ?? undefined,
  set: (key: string) => sessionStorage.setItem(KEY, key),
  forget: () => sessionStorage.removeItem(KEY),
};

interface Field {
  path: string;
  message: string;
}

/** Why a request was not carried out. */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;
  readonly errors: Field[];
  constructor(status: number, code: string, detail: string, errors: Field[] = []) {
    super(detail);
    this.status = status;
    this.code = code;
    this.errors = errors;
  }

  /** Dibs, or its database, is away. It is worth asking again. */
  get isOutage(): boolean {
    return this.status === 0 || this.status === 503;
  }
}

/** Is told of each 401. */
let unauthorized: (problem: Problem) => void = () => undefined;
export const onUnauthorized = (told: typeof unauthorized): void => {
  unauthorized = told;
};

let making = 0;

/** A key begins with `dibs_` and the 32 digits of its id: a new secret of the same key begins so, too. */
const idIn = (key: string) => key.slice(0, 37);

/**
 * Makes a key. It is shown once, so nothing may take its place on the screen: from the first key on, a request that was sent
 * without one is refused, and that may come before the key itself does. A rotation of the page's own key may refuse the old one
 * at once.
 */
export async function makeKey<T>(asked: Asked): Promise<T> {
  making++;
  try {
    const made = (await send<T & { key: string }>(asked)).body;
    const own = keyStore.get();
    if (own === undefined || idIn(own) === idIn(made.key)) keyStore.set(made.key);
    return made;
  } finally {
    making--;
  }
}

const UNREACHABLE = 'Dibs cannot be reached from this browser.';
/** No screen waits for longer. */
const PATIENCE_MS = 30_000;

async function problemOf(response: Response): Promise<Problem> {
  const { status } = response;
  try {
    const { code, detail, title, errors } = await response.json();
    return new Problem(status, code, detail ?? title, errors);
  } catch {
    return new Problem(status, 'unknown', `The answer was ${status} ${response.statusText}.`);
  }
}

export interface Answer<T> {
  body: T;
  /** The body as it was sent, with each digit. */
  text: string;
  status: number;
}

/** A part of a path. A URL cannot have the parts `.` and `..`: clients resolve them. Dibs reads them when they are encoded twice. */
export const part = (name: string): string =>
  /^\.\.?$/.test(name) ? name.replaceAll('.', '%252E') : encodeURIComponent(name);

/** A query string of what is given. */
export function query(parameters: Record<string, string | number | undefined>): string {
  const given = Object.entries(parameters).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

/** A request to the API. A string goes as it is: it is JSON already. @throws Problem */
export async function call<T>(method: string, path: string, body?: unknown): Promise<Answer<T>> {
  const key = keyStore.get();
  let response: Response;
  try {
    response = await fetch(path, {
      method,
      headers: {
        ...(key ? { authorization: `Bearer ${key}` } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      cache: 'no-store',
      credentials: 'omit',
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
  } catch {
    throw new Problem(0, 'unreachable', UNREACHABLE);
  }
  if (!response.ok) {
    const problem = await problemOf(response);
    // An answer to a key that is not in use any more says nothing about the one that is.
    if (problem.status === 401 && keyStore.get() === key && making === 0) unauthorized(problem);
    throw problem;
  }
  let text: string;
  try {
    text = await response.text();
  } catch {
    throw new Problem(0, 'unreachable', UNREACHABLE);
  }
  return { status: response.status, text, body: (text ? JSON.parse(text) : undefined) as T };
}

export const get = <T>(path: string) => call<T>('GET', path);

const isLike = (pattern: string, queue: string) =>
  pattern.endsWith('*') ? queue.startsWith(pattern.slice(0, -1)) : pattern === queue;

/** Whether a caller may do something, in a queue if one is named, else in all of them. */
export function may(caller: Caller | undefined, scope: Scope, queue?: string): boolean {
  if (!caller) return false;
  const { scopes, queues } = caller;
  if (!scopes.includes(scope) && !scopes.includes('admin')) return false;
  return queue === undefined ? queues.includes('*') : queues.some((pattern) => isLike(pattern, queue));
}

/** A request that changes something, as a value: it can be sent, and shown as a command. */
export interface Asked {
  method: 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  /** A string is JSON already. */
  body?: unknown;
}

export const send = <T>({ method, path, body }: Asked) => call<T>(method, path, body);

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** The request as a command for a shell. It names the access key, and does not have it. */
export function curlOf({ method, path, body }: Asked): string {
  const url = new URL(path, document.baseURI);
  url.hash = '';
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return [
    `curl -sS --fail-with-body -X ${method} ${quoted(String(url))}`,
    ...(keyStore.get() === undefined ? [] : ['-H "Authorization: Bearer $DIBS_KEY"']),
    ...(text === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${quoted(text)}`]),
  ].join(' \\\n  ');
}
