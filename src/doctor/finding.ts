/** `warning`: look at it soon. `problem`: jobs are at risk, or Dibs cannot serve. */
export type Level = 'ok' | 'warning' | 'problem';

/** What one check found. Scripts may rely on the name of the check. */
export interface Finding {
  check: string;
  level: Level;
  found: string;
  /** What it means. */
  meaning?: string;
  /** What to do about it. */
  advice?: string;
}

export const ok = (check: string, found: string): Finding => ({ check, level: 'ok', found });

type Bad = (check: string, found: string, meaning: string, advice: string) => Finding;
export const warning: Bad = (check, found, meaning, advice) => ({
  check,
  level: 'warning',
  found,
  meaning,
  advice,
});
export const problem: Bad = (check, found, meaning, advice) => ({
  ...warning(check, found, meaning, advice),
  level: 'problem',
});

/** When numbers are bad. */
export interface Thresholds {
  /** A transaction holds the horizon for so long. */
  heldSeconds: number;
  /** A slot or a hidden transaction holds it for so many transactions. */
  heldTransactions: number;
  /** A commit takes so long. */
  commitMs: number;
  /** The clocks differ by so much. */
  clockMs: number;
  /** A table has more dead rows than this, beyond twice what autovacuum lets pass. */
  deadRows: number;
  /** An index is larger than this, and BLOAT times as large as its entries need. */
  indexBytes: number;
}

export const THRESHOLDS: Thresholds = {
  heldSeconds: 300,
  heldTransactions: 1_000_000,
  commitMs: 50,
  clockMs: 5000,
  deadRows: 50_000,
  indexBytes: 64 * 2 ** 20,
};

/** Above so many times its threshold, a number is a problem and no warning. */
export const FAR_ABOVE = 12;

const UNITS: [number, string][] = [
  [86_400, 'days'],
  [3600, 'hours'],
  [60, 'minutes'],
];

/** A time to read: "12 minutes". */
export function lasting(seconds: number): string {
  const [length, name] = UNITS.find(([length]) => seconds >= 2 * length) ?? [1, 'seconds'];
  return `${(seconds / length).toFixed(seconds / length < 10 ? 1 : 0)} ${name}`;
}

/** A size to read: "1.5 GiB". */
export function sized(bytes: number): string {
  const power = Math.min(4, Math.floor(Math.log2(Math.max(bytes, 1)) / 10));
  return `${(bytes / 2 ** (10 * power)).toFixed(power === 0 ? 0 : 1)} ${['bytes', 'KiB', 'MiB', 'GiB', 'TiB'][power]}`;
}
