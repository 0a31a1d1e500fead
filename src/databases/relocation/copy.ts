import { Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import { rowsOf } from '../../postgres/client.ts';
import type { Database } from '../../postgres/pool.ts';
import { BEGIN, setSession } from '../../postgres/session.ts';
import { planned, readSql } from '../../postgres/statements.ts';
import { NotWanted, type Relocation } from './record.ts';

/** One statement copies so many windows, or records of idempotency keys. */
const PAGE = 1000;
/** A lease lasts so long at least when the queue has arrived: see RESCUE_GRACE_SECONDS. */
const GRACE_SECONDS = 5;
const NEWLINE = 10;

const jobsOut = readSql('relocation/jobs_out.sql');
const jobsIn = readSql('relocation/jobs_in.sql');

const statements = {
  claimArrival: planned('relocation/claim_arrival'),
  arriving: planned('relocation/arriving'),
  leaving: planned('relocation/leaving'),
  endOfOrder: planned('relocation/end_of_order'),
  record: planned('relocation/record'),
  windowsOut: planned('relocation/windows_out'),
  windowsIn: planned('relocation/windows_in'),
  keysOut: planned('relocation/keys_out'),
  keysIn: planned('relocation/keys_in'),
  restOut: planned('relocation/rest_out'),
  restIn: planned('relocation/rest_in'),
  arrive: planned('relocation/arrive'),
  restoreArrivals: planned('relocation/restore_arrivals'),
  extendLeases: planned('relocation/extend_leases'),
};

/** The part of the driver's client that its types leave out. */
const connectionOf = (client: pg.Client) => (client as unknown as { connection: pg.Connection }).connection;

interface Ends {
  source: pg.Client;
  target: pg.Client;
}

/** In the text format of COPY, each row ends with a newline, and no value has one. */
function countRows(copied: (rows: number) => void): Transform {
  return new Transform({
    transform(chunk: Buffer, _, done) {
      let rows = 0;
      for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) rows++;
      copied(rows);
      done(null, chunk);
    },
  });
}

async function copyJobs({ source, target }: Ends, queue_id: number, copied: (rows: number) => void) {
  await rowsOf(source, statements.leaving, { queue_id });
  const into = target.query(copyFrom(jobsIn));
  await pipeline(source.query(copyTo(jobsOut)), countRows(copied), into);
}

async function copyWindows({ source, target }: Ends, queue_id: number): Promise<void> {
  for (let after = '', more = true; more; ) {
    const [page] = await rowsOf(source, statements.windowsOut, { queue_id, after, limit: PAGE });
    await rowsOf(target, statements.windowsIn, { rows: page?.rows ?? '[]' });
    after = page?.last ?? '';
    more = page?.count === PAGE;
  }
}

async function copyKeys({ source, target }: Ends, queue: string): Promise<void> {
  let place = { after_route: '', after_key: '' };
  for (let more = true; more; ) {
    const [page] = await rowsOf(source, statements.keysOut, { queue, ...place, limit: PAGE });
    await rowsOf(target, statements.keysIn, { rows: page?.rows ?? '[]' });
    place = { after_route: page?.last_route ?? '', after_key: page?.last_key ?? '' };
    more = page?.count === PAGE;
  }
}

async function copyRest({ source, target }: Ends, queue_id: number): Promise<void> {
  const [rest] = await rowsOf(source, statements.restOut, { queue_id });
  const { limits, log, claims } = rest as { limits: string; log: string; claims: string };
  await rowsOf(target, statements.restIn, { limits, log, claims });
}

/** Brings a queue that has left the source, within a transaction in the target. */
async function bring(
  ends: Ends,
  { id, queue_id, queue, source: from, attempt }: Relocation,
  copied: (rows: number) => void,
) {
  const { source, target } = ends;
  const claim = { queue_id, relocation: id, attempt, source: from };
  const [claimed] = await rowsOf(target, statements.claimArrival, claim);
  if (!claimed) throw new NotWanted();
  await rowsOf(target, statements.arriving, { queue_id });
  const [order] = await rowsOf(target, statements.endOfOrder);
  await copyJobs(ends, queue_id, copied);
  await copyWindows(ends, queue_id);
  await copyKeys(ends, queue);
  await copyRest(ends, queue_id);
  const [record] = await rowsOf(source, statements.record, { queue_id });
  if (record?.relocation !== id || !record.queue) throw new NotWanted();
  const first_position = order?.last_value ?? 0;
  await rowsOf(target, statements.arrive, { queue_id, queue: record.queue, first_position });
  await rowsOf(target, statements.restoreArrivals, { arrivals: record.arrivals ?? '[]' });
  await rowsOf(target, statements.extendLeases, { queue_id, seconds: GRACE_SECONDS });
}

/**
 * Copies a queue that has left its source into its target, by one transaction there. `beforeCommit` may still refuse it.
 * When `signal` is aborted before that, nothing of it is done.
 * @throws NotWanted where another copy has arrived
 */
export function copyQueue(
  { source, target }: { source: Database; target: Database },
  relocation: Relocation,
  how: { copied(rows: number): void; beforeCommit(): Promise<void>; signal: AbortSignal },
): Promise<void> {
  const { copied, beforeCommit, signal } = how;
  return source.withOwnClient('dibs relocate', (from) =>
    target.withOwnClient('dibs relocate', async (into) => {
      const end = () => {
        for (const client of [from, into]) connectionOf(client).stream.destroy();
      };
      signal.addEventListener('abort', end);
      try {
        signal.throwIfAborted();
        for (const client of [from, into]) {
          await client.query(BEGIN);
          await setSession(client);
        }
        await bring({ source: from, target: into }, relocation, copied);
        await beforeCommit();
        await into.query('commit');
      } finally {
        signal.removeEventListener('abort', end);
      }
    }),
  );
}
