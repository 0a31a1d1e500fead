/** Random numbers from a seed: mulberry32. */
export function createRandom(seed: number) {
  let state = seed | 0;

  function next(): number {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  const between = (least: number, most: number) => least + next() * (most - least);
  const integer = (least: number, most: number) => Math.floor(between(least, most + 1));
  const oneOf = <T>(values: readonly T[]): T => values[integer(0, values.length - 1)] as T;

  return {
    between,
    integer,
    oneOf,
    chance: (share: number) => next() < share,
    /** 1 to `most` of the values, in any order. */
    some<T>(values: readonly T[], most: number): T[] {
      const left = [...values];
      return Array.from(
        { length: integer(1, Math.min(most, values.length)) },
        () => left.splice(integer(0, left.length - 1), 1)[0] as T,
      );
    },
    /** For another actor, so that its actions do not depend on how fast the others are. */
    fork: () => createRandom(integer(-(2 ** 31), 2 ** 31 - 1)),
  };
}

export type Random = ReturnType<typeof createRandom>;
