/**
 * What requests hold of a replica at this moment, by kind. Whatever takes something for a request counts it here, so
 * metrics and tests read the same numbers. While no request is under way, each of them is 0.
 */
export function createLedger() {
  const kinds = new Map<string, (() => number)[]>();
  return {
    /** Several may count the same kind. */
    count(kind: string, held: () => number): void {
      kinds.set(kind, [...(kinds.get(kind) ?? []), held]);
    },

    held: (): Record<string, number> =>
      Object.fromEntries(
        [...kinds].map(([kind, counts]) => [kind, counts.reduce((sum, held) => sum + held(), 0)]),
      ),
  };
}

export type Ledger = ReturnType<typeof createLedger>;
