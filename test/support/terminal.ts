import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * A shell command on a terminal of its own, with 20 rows of 120 columns. `play` reads what is on it, and types. Its status and all that
 * was on it.
 */
export async function onTerminal(
  command: string,
  env: Record<string, string>,
  play: (screen: () => string, type: (keys: string) => void) => Promise<void>,
): Promise<{ status: number; screen: string }> {
  const sized = `stty cols 120 rows 20; ${command}`;
  const child = spawn('script', ['-qefc', sized, '/dev/null'], { env: { ...process.env, ...env } });
  let screen = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    screen += text;
  });
  const closed = once(child, 'close');
  try {
    await play(
      () => screen,
      (keys) => child.stdin.write(keys),
    );
    const [status] = await closed;
    return { status, screen };
  } finally {
    child.kill();
  }
}
