const whole = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

export const count = (n: number | null | undefined): string => (n == null ? '–' : whole.format(n));
export const jobs = (n: number): string => `${count(n)} ${n === 1 ? 'job' : 'jobs'}`;
/** For axes and narrow columns. */
export const compact = (n: number): string =>
  n < 10_000 ? whole.format(Math.round(n * 10) / 10) : short.format(n);

export function rate(n: number | undefined): string {
  if (n === undefined) return '–';
  if (n === 0) return '0';
  return n < 0.1 ? '<0.1' : n < 10 ? n.toFixed(1) : whole.format(Math.round(n));
}

/** For axes: `42 s`, `7 min`, `1.5 h`. */
export function shortDuration(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const [n, unit] =
    seconds < 3600
      ? [seconds / 60, 'min']
      : seconds < 86_400
        ? [seconds / 3600, 'h']
        : [seconds / 86_400, 'd'];
  return `${Math.round(n * 10) / 10} ${unit}`;
}

/** `42 s`, `7 min`, `3 h 5 min`, `2 d 4 h`. */
export function duration(seconds: number | null | undefined): string {
  if (seconds == null || seconds > 1e10) return '–';
  if (seconds < 1) return seconds <= 0 ? '0 s' : '<1 s';
  const s = Math.round(seconds);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min${s < 600 && s % 60 ? ` ${s % 60} s` : ''}`;
  if (s < 86_400)
    return `${Math.floor(s / 3600)} h${s % 3600 >= 60 ? ` ${Math.floor((s % 3600) / 60)} min` : ''}`;
  return `${Math.floor(s / 86_400)} d${s % 86_400 >= 3600 ? ` ${Math.floor((s % 86_400) / 3600)} h` : ''}`;
}

const clock = new Intl.DateTimeFormat('sv', { dateStyle: 'short', timeStyle: 'medium' });

/** In the zone of the browser, down to seconds. */
export const local = (time: string | null | undefined): string => (time ? clock.format(new Date(time)) : '–');

/** In a zone of the reader's choice, with the name of its clock: `2026-11-22 06:30:00 CET`. */
export function inZone(time: string, timeZone: string): string {
  const date = new Date(time);
  const [day] = new Intl.DateTimeFormat('en', { timeZone, weekday: 'short' }).format(date).split(',');
  const at = new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short', timeStyle: 'medium' }).format(
    date,
  );
  const parts = new Intl.DateTimeFormat('en-GB', { timeZone, timeZoneName: 'short' }).formatToParts(date);
  return `${day} ${at} ${parts.find(({ type }) => type === 'timeZoneName')?.value ?? ''}`;
}

/** `3 min ago` or `in 3 min`. */
export function away(time: string | null | undefined, now = Date.now()): string {
  if (!time) return '–';
  const seconds = (now - Date.parse(time)) / 1000;
  if (Math.abs(seconds) < 1) return 'now';
  return seconds > 0 ? `${duration(seconds)} ago` : `in ${duration(-seconds)}`;
}

export const bytes = (text: string): string => {
  const n = new Blob([text]).size;
  return n < 1024
    ? `${n} bytes`
    : n < 2 ** 20
      ? `${(n / 1024).toFixed(1)} KiB`
      : `${(n / 2 ** 20).toFixed(2)} MiB`;
};
