import { builtin } from './node.ts';

/** A request, as a client sends it. */
export interface Sent {
  method: string;
  headers: Record<string, string>;
  body: string | undefined;
  /** Hangs up. Its reason is the error. */
  signal: AbortSignal;
  /** Is told the parts of an answer of 2xx, whose text is empty then. */
  heard?: ((part: string) => void) | undefined;
}

export interface Answer {
  status: number;
  text: string;
  header(name: string): string | null;
}

export type Send = (url: string, sent: Sent) => Promise<Answer>;

/** Dibs sends 16 MiB of jobs, and one more of that size. As text, each may be twice as long. What has no end must not fill the memory. */
const MOST_CHARACTERS = 128 * 2 ** 20;

/** @throws when both together are too long */
function joined(text: string, part: string): string {
  if (text.length + part.length > MOST_CHARACTERS) throw new Error('the answer is longer than 128 MiB');
  return text + part;
}

async function textOf(response: Response, heard: Sent['heard']): Promise<string> {
  if (!response.body) return response.text();
  const decoder = new TextDecoder();
  const reader = response.body.getReader();
  let text = '';
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const part = decoder.decode(read.value, { stream: true });
      if (heard && response.ok) heard(part);
      else text = joined(text, part);
    }
    return text + decoder.decode();
  } catch (error) {
    reader.cancel(error).catch(() => undefined);
    throw error;
  }
}

export const byFetch =
  (fetching: typeof fetch): Send =>
  async (url, { heard, ...sent }) => {
    // A redirect is no answer of Dibs, and another server must not get the key.
    const response = await fetching(url, { ...sent, redirect: 'manual' } as RequestInit);
    return {
      status: response.status,
      text: await textOf(response, heard),
      header: (name) => response.headers.get(name),
    };
  };

/* What is used of `node:http`, so that the types of Node are not needed. */
interface NodeAnswer {
  statusCode: number;
  headers: Record<string, string | string[] | undefined>;
  setEncoding(encoding: 'utf8'): void;
  destroy(error: unknown): void;
  on(event: 'data', heard: (text: string) => void): void;
  on(event: 'end' | 'error', heard: (error: unknown) => void): void;
}
interface NodeRequest {
  on(event: 'error', heard: (error: unknown) => void): void;
  end(body: string | undefined): void;
  destroy(): void;
}
interface NodeHttp {
  request(
    url: string,
    options: { method: string; headers: Record<string, string> },
    answered: (answer: NodeAnswer) => void,
  ): NodeRequest;
}

/** Its connections are those of Node's global agent, which keeps them, and goes through a proxy where Node is told to. */
const byNode =
  (http: NodeHttp): Send =>
  (url, { method, headers, body, signal, heard }) =>
    new Promise((resolve, reject) => {
      const request = http.request(url, { method, headers }, (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        const isOk = answer.statusCode >= 200 && answer.statusCode < 300;
        answer.on('data', (part) => {
          if (heard && isOk) return heard(part);
          try {
            text = joined(text, part);
          } catch (error) {
            answer.destroy(error);
          }
        });
        answer.on('error', failed);
        answer.on('end', () => {
          signal.removeEventListener('abort', hangUp);
          const header = (name: string) => answer.headers[name]?.toString() ?? null;
          resolve({ status: answer.statusCode, text, header });
        });
      });
      function failed(error: unknown): void {
        signal.removeEventListener('abort', hangUp);
        reject(error);
      }
      function hangUp(): void {
        failed(signal.reason);
        request.destroy();
      }
      request.on('error', failed);
      signal.addEventListener('abort', hangUp);
      if (signal.aborted) hangUp();
      else request.end(body);
    });

/**
 * Sends by `node:http` where that is there, elsewhere by `fetch`. Each `fetch` of Node 20 to 24 leaves some 28 kB that only a full collection
 * frees. Copying it stopped a worker of 300 jobs/s for 15 ms every 1.5 s.
 */
export function defaultSend(): Send {
  const { Bun, Deno } = globalThis as { Bun?: unknown; Deno?: unknown };
  const isNode = !Bun && !Deno;
  const [http, https] = ['node:http', 'node:https'].map((name) =>
    isNode ? builtin<NodeHttp>(name) : undefined,
  );
  if (!http || !https) return byFetch(fetch);
  const [plain, tls] = [byNode(http), byNode(https)];
  return (url, sent) => (url.startsWith('https:') ? tls : plain)(url, sent);
}
