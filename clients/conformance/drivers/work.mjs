// The driver of `dibs work`, as built in dist/. Each worker is a process. Its command tells this driver over TCP what it does.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { ODD_ENDS } from './workOddEnds.mjs';

const handler = fileURLToPath(new URL('workHandler.mjs', import.meta.url));
const main = fileURLToPath(new URL('../../../dist/main.js', import.meta.url));
const say = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);

const server = createServer((socket) => {
  createInterface({ input: socket })
    .on('line', (line) => {
      say(JSON.parse(line));
      socket.write('\n');
    })
    // The command was killed.
    .on('error', () => undefined);
  socket.on('error', () => undefined);
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');

const workers = new Map();
/** How `dibs` ends when what it was given cannot work. */
const USAGE_ERROR = 2;

const NUMBERS = ['concurrency', 'lease_seconds', 'wait_seconds', 'stop_seconds', 'resume_seconds'];

function start({ as, url, queues, name, key, key_file, ...settings }) {
  const flags = Object.entries(settings)
    .filter(([flag]) => NUMBERS.includes(flag))
    .flatMap(([flag, value]) => [
      `--${flag.replace('_', '-')}`,
      value === 'forever' ? '99999999' : String(value),
    ]);
  if (name) flags.push('--name', name);
  if (settings.session === false) flags.push('--no-session');
  const args = [main, 'work', ...queues, ...flags, '--result', '--retry-seconds', '100', '--'];
  const child = spawn(process.execPath, [...args, process.execPath, handler], {
    env: {
      ...process.env,
      DIBS_URL: url,
      DIBS_KEY: key ?? '',
      DIBS_KEY_FILE: key_file ?? '',
      DRIVER_PORT: String(server.address().port),
      DRIVER_AS: as,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  createInterface({ input: child.stderr }).on('line', (line) => {
    said = `${said}${line}\n`.slice(-2000);
    process.stderr.write(`${line}\n`);
    if (/^dibs work: the \w+ failed/.test(line)) say({ event: 'retrying', as, text: line });
  });
  workers.set(as, child);
  child.on('close', (code) => {
    workers.delete(as);
    if (code === 0) say({ event: 'stopped', as });
    else {
      const ended = code === USAGE_ERROR ? 'config' : /\((\w+)\)\s*$/.exec(said)?.[1];
      say({ event: 'failed', as, code: ended ?? said, text: said });
    }
    if (settings.until_signal) process.exit(code);
  });
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const command = JSON.parse(line);
    if (command.do === 'start') return start(command);
    if (command.do === 'odd_ends')
      return say({ event: 'odd_ends', as: command.as, names: Object.keys(ODD_ENDS) });
    const child = workers.get(command.as);
    if (command.do === 'kill') return child?.kill('SIGKILL');
    child?.kill('SIGTERM');
    // A deadline of its own: the second signal ends the commands.
    if (command.seconds != null)
      setTimeout(() => child?.kill('SIGTERM'), Math.max(0, command.seconds) * 1000 + 50);
  })
  .on('close', () => {
    for (const child of workers.values()) child.kill('SIGKILL');
    process.exit();
  });

// With `until_signal`, this process stands for the worker's own.
process.on('SIGTERM', () => {
  for (const child of workers.values()) child.kill('SIGTERM');
});
