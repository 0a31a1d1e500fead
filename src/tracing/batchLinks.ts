import type { Span, SpanContext } from '@opentelemetry/api';
import { isUuid } from '../ids.ts';
import { createNewest } from '../newest.ts';
import { spanContextOf } from './spans.ts';

/** So many batches are remembered. */
const MOST_BATCHES = 10_000;

/** Where the requests that created these batches belong in traces, of those that are known. All are of one database. */
export type BatchTraces = (ids: string[]) => Promise<{ id: string; traceparent: string }[]>;

/** Links a span to the one that created this batch. */
export type LinkToBatch = (span: Span | undefined, batch: string | undefined) => void;

const linkNothing: LinkToBatch = () => undefined;

/** The spans that created batches, also at other replicas: what comes in later links to them. */
export function createBatchLinks(tracesOf: BatchTraces) {
  const known = createNewest<SpanContext>(MOST_BATCHES);

  const link: LinkToBatch = (span, batch) => {
    const context = batch === undefined ? undefined : known.find(batch);
    // Somebody's own SDK may be older than 1.24, and has none.
    if (context) span?.addLink?.({ context });
  };

  return {
    note: known.note,

    /** Looks for the spans of these batches while the verb runs. One that is not found gets no link. */
    async find(batches: (string | undefined)[]): Promise<LinkToBatch> {
      const ids = new Set(batches.filter((id) => id !== undefined));
      if (ids.size === 0) return linkNothing;
      const unknown = [...ids].filter((id) => isUuid(id) && !known.find(id));
      const found = unknown.length === 0 ? [] : await tracesOf(unknown).catch(() => []);
      for (const { id, traceparent } of found) {
        const context = spanContextOf({ traceparent });
        if (context) known.note(id, context);
      }
      return link;
    },
  };
}

export type BatchLinks = ReturnType<typeof createBatchLinks>;
