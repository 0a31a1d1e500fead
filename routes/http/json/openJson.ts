import { CLOSE_LIST, CLOSE_OBJECT } from './jsonTokens.ts';

/**
 * Which values of a body are kept as texts. `{ maxBytes }` is such a value, `members` names members of an object, and a
 * one-element array stands for all elements. `{ members: { jobs: [{ maxBytes: 9 }] } }`: each element of `jobs`.
 * LONG_TEXT is not kept as a text. It is a string that may be as long as the body.
 */
export type RawShape =
  | { maxBytes: number }
  | [RawShape]
  | { members: Record<string, RawShape> }
  | typeof LONG_TEXT;

export const LONG_TEXT = { isLong: true } as const;

const NO_MEMBERS: Record<string, RawShape> = {};

/** A list whose elements are being read. */
export class OpenList {
  readonly close = CLOSE_LIST;
  readonly itemsInWords = 'items';
  readonly itemBegins = 'value';
  /** The shape of the value that is read now. */
  readonly shape: RawShape | undefined;
  readonly #list: unknown[] = [];

  constructor(shape: RawShape | undefined) {
    this.shape = Array.isArray(shape) ? shape[0] : undefined;
  }

  /** Where the value that is read now stands in the list. */
  get key(): number {
    return this.#list.length;
  }

  get count(): number {
    return this.#list.length;
  }

  add(value: unknown): void {
    this.#list.push(value);
  }

  value(): unknown[] {
    return this.#list;
  }
}

/** An object whose members are being read: a name, then its value. */
export class OpenObject {
  readonly close = CLOSE_OBJECT;
  readonly itemsInWords = 'members';
  readonly itemBegins = 'name';
  count = 0;
  /** The name of the value that is read now. */
  key = '';
  /** The shape of that value. */
  shape: RawShape | undefined;
  readonly #members: Record<string, RawShape>;
  readonly #object: Record<string, unknown> = {};

  constructor(shape: RawShape | undefined) {
    this.#members = shape !== undefined && 'members' in shape ? shape.members : NO_MEMBERS;
  }

  named(name: string): void {
    this.key = name;
    this.shape = Object.hasOwn(this.#members, name) ? this.#members[name] : undefined;
  }

  add(value: unknown): void {
    const { key } = this;
    if (key === '__proto__')
      Object.defineProperty(this.#object, key, {
        value,
        writable: true,
        enumerable: true,
        configurable: true,
      });
    else this.#object[key] = value;
    this.count++;
  }

  value(): object {
    return this.#object;
  }
}
