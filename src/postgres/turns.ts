/** Who asks, from the whole to its part: a queue, and a caller in it. */
export type Path = readonly unknown[];

/**
 * What waits. Those who ask take turns at each step of their paths: queues with queues, and within a queue callers with
 * callers. What one of them asks for goes in order.
 */
export class Turns<T> {
  size = 0;
  readonly #items: T[] = [];
  /** Whose turn is next stands first. */
  readonly #parts = new Map<unknown, Turns<T>>();

  push([part, ...rest]: Path, item: T): void {
    this.size++;
    if (part === undefined) {
      this.#items.push(item);
      return;
    }
    const turns = this.#parts.get(part) ?? new Turns<T>();
    this.#parts.set(part, turns);
    turns.push(rest, item);
  }

  /** Takes the one whose turn it is. */
  next(): T | undefined {
    if (this.size === 0) return undefined;
    this.size--;
    if (this.#items.length > 0) return this.#items.shift();
    const [[part, turns]] = this.#parts as unknown as [[unknown, Turns<T>]];
    const taken = turns.next();
    this.#parts.delete(part);
    if (turns.size > 0) this.#parts.set(part, turns);
    return taken;
  }

  /** Takes the newest of those with the longest line. */
  lastOfLongest(): T | undefined {
    if (this.size === 0) return undefined;
    this.size--;
    let longest: [unknown, Turns<T>] | undefined;
    for (const entry of this.#parts) if (entry[1].size > (longest?.[1].size ?? 0)) longest = entry;
    if (!longest || this.#items.length > longest[1].size) return this.#items.pop();
    const [part, turns] = longest;
    const taken = turns.lastOfLongest();
    if (turns.size === 0) this.#parts.delete(part);
    return taken;
  }

  /** Takes all of which this holds, wherever they stand. */
  takeIf(holds: (item: T) => boolean): T[] {
    const taken: T[] = [];
    for (const item of this.#items.splice(0)) (holds(item) ? taken : this.#items).push(item);
    for (const [part, turns] of this.#parts) {
      // As arguments of one push, a long line would overflow the stack.
      for (const item of turns.takeIf(holds)) taken.push(item);
      if (turns.size === 0) this.#parts.delete(part);
    }
    this.size -= taken.length;
    return taken;
  }
}
