import { type Askers, askers, type Ran } from '../askers.ts';
import type { Call } from './pipeline.ts';

/** A statement of a transaction, with those who asked for it. Its times are known only where the transaction is timed. */
export interface TripStatement extends Ran {
  askers: Askers;
}

/** A transaction, from the wait for a connection to the commit. Times are on the clock of this process. */
export interface Trip {
  began: number;
  connected: number;
  ended: number;
  /** Whether the times of its statements are known. */
  isTimed: boolean;
  /** With the commit as the last one, if the trip is timed. */
  statements: TripStatement[];
}

export interface TripWatch {
  /** Whether the statements are to be timed, though nobody traces them. */
  isTimed(): boolean;
  ended(trip: Trip): void;
}

const nameOf = ({ statement }: Call): string => statement.file ?? 'unnamed';

/** Notes what a transaction does, and when. */
export function watchTrip(watch: TripWatch | undefined, here: Askers = askers()) {
  const began = performance.now();
  const isWatched = watch?.isTimed() ?? false;
  const statements: TripStatement[] = [];
  let connected = began;
  let all = here;
  let isTimed = isWatched;

  const note = (name: string, from: number, ended: number, rows: number, failed: boolean, of: Askers) =>
    statements.push({ name, began: from, ended, rows, failed, askers: of, waitedMs: connected - began });

  return {
    connected(): void {
      connected = performance.now();
    },

    /** Whether these statements are to be timed: it costs a message to the server, and one back, for each of them. */
    isTimed(calls: Call[]): boolean {
      for (const call of calls)
        if (call.askers && call.askers.length > 0) all = [...new Set([...all, ...call.askers])];
      const timed = isWatched || all.some(({ ran }) => ran !== undefined);
      isTimed ||= timed;
      return timed;
    },

    /** Statements ran. `ends` has the time at which each ended, as far as they got. */
    ran(
      calls: Call[],
      { from, ends, rows }: { from: number; ends: number[]; rows?: number[] | undefined },
    ): void {
      let last = from;
      for (const [i, call] of calls.entries()) {
        const ended = ends[i] ?? performance.now();
        const failed = rows === undefined && i === ends.length;
        note(nameOf(call), last, ended, rows?.[i] ?? 0, failed, call.askers ?? here);
        // The server passes over those behind it.
        if (failed && isTimed) return;
        last = ended;
      }
    },

    /** It is committed. That began at `from`, or when the last statement ended. */
    committed(from = statements.at(-1)?.ended): void {
      if (isTimed && from !== undefined) note('commit', from, performance.now(), 0, false, all);
    },

    end(): void {
      const ended = performance.now();
      for (const statement of statements) for (const { ran } of statement.askers) ran?.(statement);
      watch?.ended({ began, connected, ended, isTimed, statements });
    },
  };
}

export type TripNotes = ReturnType<typeof watchTrip>;
