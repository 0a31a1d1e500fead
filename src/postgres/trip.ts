import { type Askers, askers, type Ran } from '../askers.ts';
import type { Call } from './pipeline.ts';

/**
 * A statement of a transaction, with those who asked for it. Its times are known only where the transaction is timed.
 */
export interface TripStatement extends Ran {
  askers: Askers;
}

/** A transaction, from the wait for a connection to the commit. Times are on the clock of this process. */
export interface Trip {
  /** When it was tried first. A lock was in the way since. */
  asked: number;
  began: number;
  connected: number;
  ended: number;
  /** Whether the times of its statements are known. */
  isTimed: boolean;
  /**
   * With the commit as the last one, if the trip is timed. They are made when somebody asks for them: few trips are
   * slow.
   */
  statements(): TripStatement[];
}

export interface TripWatch {
  /** Whether the statements are to be timed, though nobody traces them. */
  isTimed(): boolean;
  ended(trip: Trip): void;
}

/**
 * Statements that ran together. `ends` has the time at which each ended, as far as they got. `rows` has how many rows
 * each returned. Undefined: one failed.
 */
interface Round {
  calls: Call[];
  from: number;
  ended: number;
  ends: number[];
  rows: number[] | undefined;
}

const nameOf = ({ statement }: Call): string => statement.file ?? 'unnamed';

/** What the statements of a round trip did, and when. */
function* statementsOf(
  { calls, from, ended, ends, rows }: Round,
  { here, waitedMs, isTimed }: { here: Askers; waitedMs: number; isTimed: boolean },
): Generator<TripStatement> {
  let last = from;
  for (const [i, call] of calls.entries()) {
    const end = ends[i] ?? ended;
    const failed = rows === undefined && i === ends.length;
    yield {
      name: nameOf(call),
      began: last,
      ended: end,
      rows: rows?.[i] ?? 0,
      failed,
      askers: call.askers ?? here,
      waitedMs,
    };
    // The server passes over those after it.
    if (failed && isTimed) return;
    last = end;
  }
}

/** Notes what a transaction does, and when. */
export function watchTrip(watch: TripWatch | undefined, asked: number, here: Askers = askers()) {
  const began = performance.now();
  const isWatched = watch?.isTimed() ?? false;
  const rounds: Round[] = [];
  let connected = began;
  let commit: { began: number; ended: number } | undefined;
  let all = here;
  let isTimed = isWatched;

  const isTraced = () => all.some(({ ran }) => ran !== undefined);

  function statements(): TripStatement[] {
    const waitedMs = connected - began;
    const made = rounds.flatMap((round) => [...statementsOf(round, { here, waitedMs, isTimed })]);
    if (commit && isTimed)
      made.push({ name: 'commit', ...commit, rows: 0, failed: false, askers: all, waitedMs });
    return made;
  }

  return {
    connected(): void {
      connected = performance.now();
    },

    /** Whether these statements are to be timed: it costs a message to the server, and one back, for each of them. */
    isTimed(calls: Call[]): boolean {
      for (const call of calls)
        if (call.askers && call.askers.length > 0) all = [...new Set([...all, ...call.askers])];
      const timed = isWatched || isTraced();
      isTimed ||= timed;
      return timed;
    },

    ran(round: Omit<Round, 'ended'>): void {
      rounds.push({ ...round, ended: performance.now() });
    },

    /** It is committed. That began at `from`, or when the last statement ended. */
    committed(from = rounds.at(-1)?.ends.at(-1)): void {
      if (from !== undefined) commit = { began: from, ended: performance.now() };
    },

    end(): void {
      const ended = performance.now();
      if (isTraced())
        for (const statement of statements()) for (const { ran } of statement.askers) ran?.(statement);
      watch?.ended({ asked, began, connected, ended, isTimed, statements });
    },
  };
}

export type TripNotes = ReturnType<typeof watchTrip>;
