import { withOwnClient } from '../postgres/client.ts';
import { outageAsRefusal } from '../postgres/errorClasses.ts';
import type { Progress } from './exportTo.ts';
import { createChecker, type Kind } from './format.ts';
import { type Come, createImport } from './importRun.ts';
import type { Numbered } from './insertLines.ts';
import { linesOf } from './lines.ts';

/** A batch has at most so many lines and about so many bytes. It is one transaction. */
const MOST_LINES = 500;
const MOST_BYTES = 2 ** 20;

export interface Imported {
  jobs: number;
  /** Lines that this database had already: schedules, keys and unique windows. */
  skipped: number;
  /** Lines that an earlier import of this file had put in. */
  before: number;
}

/** Reads the whole file, and changes nothing. @throws FileError */
export async function checkFile(stream: AsyncIterable<Buffer>, progress: Progress): Promise<void> {
  const checker = createChecker();
  let jobs = 0;
  let all = 0;
  for await (const line of linesOf(stream)) {
    const parsed = checker.next(line);
    if (parsed.kind === 'header') all = parsed.jobs;
    if (parsed.kind === 'job') progress(++jobs, all);
  }
  checker.end();
}

/**
 * Puts the lines of an export into a database that is migrated. Each batch is a transaction that also notes how far the
 * import has come. So an import of the same file goes on where one before it ended, and puts in nothing twice. Until
 * the end, the queues are paused.
 * @throws FileError
 */
export function importFrom(
  stream: AsyncIterable<Buffer>,
  { url, newIds, progress }: { url: string; newIds: boolean; progress: Progress },
): Promise<Imported> {
  return withOwnClient(url, { application_name: 'dibs import' }, async (client) => {
    const checker = createChecker();
    let running: ReturnType<typeof createImport> | undefined;
    let result: Come = { lines: 0 };
    let inBefore = 0;
    let all = 0;
    let jobs = 0;
    let kind: Kind | undefined;
    let lines: Numbered[] = [];
    let bytes = 0;

    async function flush(next: string): Promise<void> {
      // The queues come in one batch: none is written when one of them is in the way.
      const isFull = lines.length >= MOST_LINES || bytes >= MOST_BYTES;
      if (kind === next && (kind === 'queue' || !isFull)) return;
      if (kind === 'queue') await running?.makeWay();
      if (kind !== undefined && lines.length > 0) await running?.put(kind, lines);
      if (kind === 'job') progress(jobs, all);
      kind = next as Kind;
      lines = [];
      bytes = 0;
    }

    for await (const line of linesOf(stream)) {
      const parsed = checker.next(line);
      if (parsed.kind === 'header') {
        all = parsed.jobs;
        running = createImport(client, parsed, parsed.id, { newIds });
        result = await running.begin();
        inBefore = result.lines;
        if (result.isDone) break;
        continue;
      }
      await flush(parsed.kind);
      if (parsed.kind === 'end') {
        result = (await running?.finish(line.number)) ?? result;
        continue;
      }
      if (parsed.kind === 'queue') running?.queues.push(parsed);
      if (parsed.kind === 'job') jobs++;
      lines.push({ number: line.number, text: line.bytes.toString() });
      bytes += line.bytes.length;
    }
    if (!result.isDone) checker.end();
    return { jobs: result.jobs ?? 0, skipped: result.skipped ?? 0, before: inBefore };
  }).catch((error) => {
    throw outageAsRefusal(error);
  });
}
