import { builtin } from './node.ts';
import { checkedKey } from './settings.ts';

export type KeyFunction = () => string | Promise<string>;

/** A text, a function that is asked before each request, or a file that is read again when its key is refused. */
export class AccessKey {
  readonly #ask: KeyFunction | undefined;
  readonly #file: string | undefined;
  #text = '';

  /** @throws TypeError for a key that cannot be sent, a file that cannot be read, or both */
  constructor(key: string | KeyFunction | undefined, file: string | undefined) {
    if (key && file) throw new TypeError('give key or keyFile, not both');
    this.#file = file || undefined;
    if (typeof key === 'function') this.#ask = key;
    else this.#text = file ? keyIn(file) : checkedKey(key);
  }

  /** The key for a request, if it is there in time. */
  async read(ended: AbortSignal): Promise<string> {
    return this.#ask ? keyOf(this.#ask, ended) : this.#text;
  }

  /** Whether the file has another key than this one, which was refused. While the file is replaced, it has none. */
  isRenewed(refused: string): boolean {
    if (this.#file === undefined) return false;
    try {
      this.#text = keyIn(this.#file);
    } catch {
      return false;
    }
    return this.#text !== refused;
  }
}

/** What a key function gives, if it does so in time. */
async function keyOf(ask: () => unknown, ended: AbortSignal): Promise<string> {
  const late = new Promise<never>((_, reject) => {
    ended.addEventListener('abort', () => reject(ended.reason));
    if (ended.aborted) reject(ended.reason);
  });
  try {
    return checkedKey(await Promise.race([(async () => ask())(), late]));
  } catch (error) {
    throw new Error('the key function gave no key', { cause: error });
  }
}

interface Files {
  readFileSync(file: string, encoding: 'utf8'): string;
}

/** @throws TypeError. No error shows what is in the file */
function keyIn(file: string): string {
  const files = builtin<Files>('node:fs');
  if (!files) throw new TypeError('keyFile needs Node: give a function as key');
  let text: string;
  try {
    text = files.readFileSync(file, 'utf8');
  } catch (error) {
    throw new TypeError(`the key file cannot be read: ${(error as Error).message}`);
  }
  const key = checkedKey(text);
  if (key === '') throw new TypeError(`the key file ${file} is empty`);
  return key;
}
