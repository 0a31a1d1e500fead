/** The first line of a message that may quote a value: see QUOTING in src/logger.ts. */
const QUOTING = /^(\[\d+ (?:22|P0)\w{3}\] \w+: +)/;

/** Leaves out of the server's log lines what may quote values. It returns undefined for a line that goes on with such a message. */
export function withoutValues(): (line: string) => string | undefined {
  let isHidden = false;
  return (line) => {
    // PostgreSQL begins the further lines of a message with a tab.
    if (line.startsWith('\t')) return isHidden ? undefined : line;
    const [, start] = QUOTING.exec(line) ?? [];
    isHidden = start !== undefined;
    return isHidden ? `${start}(not logged: it may quote data)` : line;
  };
}
