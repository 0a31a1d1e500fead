const SECONDS = { s: 1, m: 60, h: 3600 };
/** Scrapes come every 2 s, and a rate needs two of them. */
const LEAST_WINDOW_SECONDS = 6;

const secondsOf = (duration: string) =>
  Number(duration.slice(0, -1)) * SECONDS[duration.slice(-1) as keyof typeof SECONDS];
const written = (seconds: number) => `${Math.max(1, Math.round(seconds * 1000))}ms`;

/**
 * The rules with shorter times, so that a test sees them fire: `for` by 240, windows (`[5m]`) by 10, ages in seconds that
 * an expression names (`> 300`) by 100. All else stays as it is. So does the
 * window in which restarts are counted: three of them take long on a busy machine.
 */
export const shortRules = (text: string): string =>
  text
    .replaceAll(/^( +for:) (\d+[smh])$/gm, (_, key, time) => `${key} ${written(secondsOf(time) / 240)}`)
    .replaceAll(/(?<!changes\(\S*)\[(\d+[smh])\]/g, (_, window) => {
      return `[${written(Math.max(LEAST_WINDOW_SECONDS, secondsOf(window) / 10))}]`;
    })
    .replaceAll(/> (\d{3,})$/gm, (_, age) => `> ${Number(age) / 100}`);
