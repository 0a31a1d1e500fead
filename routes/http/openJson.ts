import { Refusal } from '../../src/errors.ts';
import { CLOSE_LIST, CLOSE_OBJECT } from './jsonTokens.ts';

/**
 * Which values of a body are kept as texts. `{ maxBytes }` is such a value, `members` names members of an object, and a
 * one-element array stands for all elements. `{ members: { jobs: [{ maxBytes: 9 }] } }`: each element of `jobs`.
 */
export type RawShape = { maxBytes: number } | [RawShape] | { members: Record<string, RawShape> };

const NO_MEMBERS: Record<string, RawShape> = {};

/** @throws the refusal that a value is instead of being read */
export function ifRead(value: unknown): unknown {
  if (value instanceof Refusal) throw value;
  return value;
}

/** A list whose elements are being read. */
export class OpenList {
  readonly close = CLOSE_LIST;
  readonly itemsInWords = 'items';
  readonly awaitsName = false;
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
    this.#list.push(ifRead(value));
  }

  value(): unknown[] {
    return this.#list;
  }
}

/** An object whose members are being read: a name, then its value. */
export class OpenObject {
  readonly close = CLOSE_OBJECT;
  readonly itemsInWords = 'members';
  /** Whether a name comes next, or a value. */
  awaitsName = true;
  count = 0;
  /** The name of the value that is read now. */
  key = '';
  /** The shape of that value. */
  shape: RawShape | undefined;
  readonly #members: Record<string, RawShape>;
  readonly #object: Record<string, unknown> = {};
  #refused: Map<string, Refusal> | undefined;

  constructor(shape: RawShape | undefined) {
    this.#members = shape !== undefined && 'members' in shape ? shape.members : NO_MEMBERS;
  }

  named(name: string): void {
    this.key = name;
    this.shape = Object.hasOwn(this.#members, name) ? this.#members[name] : undefined;
    this.awaitsName = false;
  }

  add(value: unknown): void {
    const { key } = this;
    // Of a repeated name the last value counts, as in JSON.parse: so a refusal waits for the end.
    if (value instanceof Refusal) {
      this.#refused ??= new Map();
      this.#refused.set(key, value);
    } else this.#refused?.delete(key);
    if (key === '__proto__')
      Object.defineProperty(this.#object, key, {
        value,
        writable: true,
        enumerable: true,
        configurable: true,
      });
    else this.#object[key] = value;
    this.count++;
    this.awaitsName = true;
  }

  /** @throws the first refusal of a member */
  value(): object {
    for (const refusal of this.#refused?.values() ?? []) throw refusal;
    return this.#object;
  }
}
