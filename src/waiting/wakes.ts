/** Who is woken when something happens to what has an id. Many may wait for one. */
export function createWakes() {
  const waiting = new Map<string, Set<() => void>>();

  return {
    add(id: string, woken: () => void): void {
      const others = waiting.get(id);
      if (others) others.add(woken);
      else waiting.set(id, new Set([woken]));
    },

    remove(id: string, woken: () => void): void {
      const all = waiting.get(id);
      all?.delete(woken);
      if (all?.size === 0) waiting.delete(id);
    },

    wake(ids: string[]): void {
      for (const id of ids) for (const woken of waiting.get(id) ?? []) woken();
    },

    /** Those that somebody waits for. */
    ids: (): string[] => [...waiting.keys()],
  };
}

export type Wakes = ReturnType<typeof createWakes>;
