import { connect } from 'node:net';

const JSON_TYPE = 'content-type: application/json\r\n';

/** The head of a request, with what a client says about its body. */
export const head = (method, path, more = '') =>
  `${method} ${path} HTTP/1.1\r\nhost: localhost\r\n${JSON_TYPE}${more}\r\n`;

export const withLength = (method, path, bytes, more = '') =>
  head(method, path, `${more}content-length: ${bytes}\r\n`);

/**
 * A client on a socket of its own. `answered` is the status of its first answer, or the word for how it ended without
 * one. When `reads` is false, it reads nothing until `read` is called.
 */
export function open({ url, reads = true, localAddress }) {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true, localAddress });
  let text = '';
  let read;
  const answered = new Promise((resolve) => {
    const end = (how) => () => resolve(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? how);
    read = () =>
      socket.on('data', (chunk) => {
        if (text.length < 1000) text += chunk.toString('latin1', 0, 1000);
        if (/^HTTP\/1\.1 \d+ /.test(text)) end('answered')();
      });
    if (reads) read();
    socket.on('error', end('reset'));
    socket.on('close', end('closed'));
  });
  return { socket, answered, read: () => read().resume() };
}

/** Writes, and waits until the kernel has taken it. */
export const write = (socket, bytes) =>
  new Promise((resolve) => (socket.writable ? socket.write(bytes, () => resolve()) : resolve()));

/** Counts the outcomes of clients: "200: 3, reset: 1". Those that are still open after `withinMs` count as open. */
export async function tally(clients, withinMs) {
  const late = new Promise((resolve) => setTimeout(() => resolve('open'), withinMs));
  const counts = new Map();
  for (const how of await Promise.all(clients.map(({ answered }) => Promise.race([answered, late]))))
    counts.set(how, (counts.get(how) ?? 0) + 1);
  return [...counts].map(([how, count]) => `${how}: ${count}`).join(', ');
}

/** Runs `work` for each of `count` clients, `atOnce` at a time. */
export async function each(count, atOnce, work) {
  let next = 0;
  const run = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, run));
}
