/** So many callers are remembered. */
const MOST = 100;

/** The callers who had their turns at this replica. The statement that takes the next work prefers others. */
export function servedCallers() {
  let callers: string[] = [];
  return {
    /** The one that had its turn last stands last. */
    list: (): string[] => callers,
    /** Null: nobody needs a key, all work is of one caller. */
    add(actor: string | null): void {
      const caller = actor ?? '';
      callers = [...callers.filter((one) => one !== caller), caller].slice(-MOST);
    },
  };
}
