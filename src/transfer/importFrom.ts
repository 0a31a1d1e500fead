import { type Connected, type Databases, withClients } from '../databases/clients.ts';
import { openReceiving } from '../engine/receiving.ts';
import { outageAsRefusal } from '../postgres/errorClasses.ts';
import type { Progress } from './exportTo.ts';
import { createChecker, type Header, type Kind, type QueueLine } from './format.ts';
import { findDeleted } from './importQueues.ts';
import { createImport } from './importRuns.ts';
import type { Numbered } from './insertLines.ts';
import { linesOf } from './lines.ts';

/** A batch has at most so many lines and about so many bytes. It is one transaction. */
const MOST_LINES = 500;
const MOST_BYTES = 2 ** 20;

export interface Imported {
  jobs: number;
  /** Lines that were there already: schedules, keys and unique windows. */
  skipped: number;
  /** Lines that an earlier import of this file had put in. */
  before: number;
  /** An earlier import had put in all: the queues of the file that were deleted since. */
  deleted?: string[];
}

/** Reads the whole file, and changes nothing. @throws FileError */
export async function checkFile(stream: AsyncIterable<Buffer>, progress: Progress): Promise<void> {
  const checker = createChecker();
  let jobs = 0;
  let all = 0;
  for await (const line of linesOf(stream)) {
    const parsed = checker.next(line);
    if (parsed.kind === 'header') all = parsed.jobs;
    if (parsed.kind === 'job' || parsed.kind === 'relay') progress(++jobs, all);
  }
  checker.end();
}

interface Options {
  newIds: boolean;
  progress: Progress;
}

type All = [Connected, ...Connected[]];
type ReceiveAt = Parameters<typeof createImport>[2]['receiveAt'];

/** Reads the lines, and puts them in by batches. */
async function importLines(
  stream: AsyncIterable<Buffer>,
  all: All,
  { newIds, progress, receiveAt }: Options & { receiveAt: ReceiveAt },
): Promise<Imported> {
  const checker = createChecker();
  let running: ReturnType<typeof createImport> | undefined;
  let isDone = false;
  let [jobs, most] = [0, 0];
  let kind: Kind | undefined;
  let queues: QueueLine[] = [];
  let lines: Numbered[] = [];
  let bytes = 0;

  async function flush(next: string): Promise<void> {
    // The queues come in one batch: none is written when one of them is in the way.
    const isFull = lines.length >= MOST_LINES || bytes >= MOST_BYTES;
    if (kind === next && (kind === 'queue' || !isFull)) return;
    if (kind === 'queue') await running?.putQueues(queues, lines);
    else if (kind !== undefined && lines.length > 0) await running?.put(kind, lines);
    if (kind === 'job' || kind === 'relay') progress(jobs, most);
    kind = next as Kind;
    queues = [];
    lines = [];
    bytes = 0;
  }

  async function begin(header: Header): Promise<void> {
    most = header.jobs;
    running = createImport(all, header, { newIds, receiveAt });
    isDone = await running.begin();
  }

  for await (const line of linesOf(stream)) {
    const parsed = checker.next(line);
    if (parsed.kind === 'header') await begin(parsed);
    else if (isDone) {
      // Nothing is put in. The queues come first.
      if (parsed.kind !== 'queue') break;
      queues.push(parsed);
    } else {
      await flush(parsed.kind);
      if (parsed.kind === 'end') await running?.finish(line.number);
      if (parsed.kind === 'queue') queues.push(parsed);
      if (parsed.kind === 'job' || parsed.kind === 'relay') jobs++;
      const hasGroup = 'group_key' in parsed;
      const ofQueue = 'queue_id' in parsed ? { queueId: parsed.queue_id, hasGroup } : {};
      lines.push({ number: line.number, text: line.bytes.toString(), ...ofQueue });
      bytes += line.bytes.length;
    }
  }
  if (!isDone) checker.end();
  const counts = running?.counts() ?? { jobs: 0, skipped: 0, before: 0 };
  return isDone ? { ...counts, deleted: await findDeleted(all, queues) } : counts;
}

/** The rooms that take jobs which were on their way, opened when the first of them come. */
function createReceiving({ url, others = [] }: Databases) {
  const opened = new Map<string, ReturnType<typeof openReceiving>>();
  return {
    at(name: string) {
      const known =
        opened.get(name) ?? openReceiving(others.find((other) => other.name === name)?.url ?? url);
      opened.set(name, known);
      return known.receive;
    },
    close: () => Promise.all([...opened.values()].map(({ close }) => close())),
  };
}

/**
 * Puts the lines of an export into databases that are migrated, and belong together (joined.ts). Each batch is a transaction
 * in each database which it concerns, that also notes how far the import has come there. So an import of the same file goes
 * on where one before it ended, and puts in nothing twice. Until the end, the queues are paused.
 * @throws FileError
 */
export function importFrom(
  stream: AsyncIterable<Buffer>,
  { newIds, progress, ...databases }: Databases & Options,
): Promise<Imported> {
  const receiving = createReceiving(databases);
  return withClients(databases, 'dibs import', (all) =>
    importLines(stream, all, { newIds, progress, receiveAt: receiving.at }),
  )
    .finally(receiving.close)
    .catch((error) => {
      throw outageAsRefusal(error);
    });
}
