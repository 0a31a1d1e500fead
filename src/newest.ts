/** Remembers so many values by their ids. The oldest is forgotten for a new one. One that is noted again is the newest. */
export function createNewest<T>(most: number) {
  const values = new Map<string, T>();
  return {
    find: (id: string): T | undefined => values.get(id),

    note(id: string, value: T): void {
      values.delete(id);
      if (values.size >= most) values.delete(values.keys().next().value as string);
      values.set(id, value);
    },

    all: (): T[] => [...values.values()],

    forget: (id: string): void => void values.delete(id),

    forgetAll: (): void => values.clear(),
  };
}
