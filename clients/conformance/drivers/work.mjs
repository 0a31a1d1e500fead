// The driver of `dibs work`, as built in dist/. Each worker is a process. Its command tells this driver over TCP what it does.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

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

function start({ as, url, queues, name, ...settings }) {
  const flags = Object.entries(settings)
    .filter(([flag]) => ['concurrency', 'lease_seconds', 'wait_seconds', 'stop_seconds'].includes(flag))
    .flatMap(([flag, value]) => [`--${flag.replace('_', '-')}`, String(value)]);
  if (name) flags.push('--name', name);
  const args = [main, 'work', ...queues, ...flags, '--result', '--retry-seconds', '100', '--'];
  const child = spawn(process.execPath, [...args, process.execPath, handler], {
    env: { ...process.env, DIBS_URL: url, DRIVER_PORT: String(server.address().port), DRIVER_AS: as },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (text) => {
    said = (said + text).slice(-2000);
  });
  workers.set(as, child);
  child.on('close', (code) => {
    workers.delete(as);
    if (code === 0) say({ event: 'stopped', as });
    else say({ event: 'failed', as, code: /\((\w+)\)\s*$/.exec(said)?.[1] ?? said });
  });
}

createInterface({ input: process.stdin })
  .on('line', (line) => {
    const command = JSON.parse(line);
    if (command.do === 'start') return start(command);
    const child = workers.get(command.as);
    child?.kill('SIGTERM');
    // A deadline of its own: the second signal ends the commands.
    if (command.seconds != null) setTimeout(() => child?.kill('SIGTERM'), command.seconds * 1000 + 50);
  })
  .on('close', () => {
    for (const child of workers.values()) child.kill('SIGKILL');
    process.exit();
  });
