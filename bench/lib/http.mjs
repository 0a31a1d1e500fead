import { Agent, request } from 'node:http';

const TIMEOUT_MS = 90_000;

/** An HTTP client that keeps up to `connections` alive and does not pipeline. `key`: its access key. */
export function client(base, connections = 1, timeoutMs = TIMEOUT_MS, key = undefined) {
  const { hostname, port } = new URL(base);
  const agent = new Agent({ keepAlive: true, maxSockets: connections, noDelay: true });

  /**
   * Returns `{ status, text, ms, at }`: `ms` until the last byte of the answer, which came at `at`. `more`: further headers.
   */
  function call(method, path, body, more = {}) {
    const data = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
    const headers = {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(data === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(data) }),
      ...more,
    };
    const started = performance.now();
    return new Promise((resolve, reject) => {
      const sent = request(
        { hostname, port, method, path, agent, headers, timeout: timeoutMs },
        (response) => {
          const chunks = [];
          response.on('data', (chunk) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () =>
            resolve({
              status: response.statusCode,
              text: Buffer.concat(chunks).toString(),
              ms: performance.now() - started,
              at: performance.now(),
            }),
          );
        },
      );
      sent.on('timeout', () => sent.destroy(new Error(`no answer to ${method} ${path} in ${timeoutMs} ms`)));
      sent.on('error', reject);
      sent.end(data);
    });
  }

  /** Returns the answer with its JSON as `body`. Throws if the status is not 2xx. */
  async function json(method, path, body, more) {
    const answer = await call(method, path, body, more);
    if (answer.status >= 300)
      throw new Error(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 300)}`);
    return { ...answer, body: answer.text ? JSON.parse(answer.text) : undefined };
  }

  return {
    call,
    json,
    post: (path, body, more) => json('POST', path, body, more),
    close: () => agent.destroy(),
  };
}
