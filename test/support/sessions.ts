import { once } from 'node:events';
import { request } from 'node:http';
import { until } from './until.ts';

// biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every kind.
type Json = any;

/** A connection that holds a session. */
export interface HeldSession {
  id: string;
  /** What it has heard so far. */
  lines: Json[];
  /** Whether the answer has ended, or the connection is gone. */
  isOver(): boolean;
  /** Resolves then. */
  over: Promise<unknown>;
  /** Hangs up, as a process does that is killed. */
  hangUp(): void;
}

/** Opens or resumes a session over a connection of its own. Resolves with its first line. */
export async function holdSession(
  url: string,
  body: object = {},
  headers: Record<string, string> = {},
): Promise<HeldSession> {
  const lines: Json[] = [];
  let text = '';
  const gone = new AbortController();
  const over = () => gone.abort();
  const sent = request(`${url}/sessions`, {
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json', ...headers },
  });
  const isGone = once(gone.signal, 'abort');
  const opened = new Promise<void>((resolve, reject) => {
    sent.once('error', (error) => {
      over();
      reject(error);
    });
    sent.once('response', (response) => {
      response.setEncoding('utf8');
      response.on('data', (chunk) => {
        text += chunk;
        const parts = text.split('\n');
        text = parts.pop() as string;
        lines.push(...parts.map((part) => JSON.parse(part)));
        if (lines.length > 0) resolve();
      });
      response.on('error', over);
      response.on('close', () => {
        over();
        reject(new Error(`${response.statusCode} ${text}`));
      });
    });
  });
  sent.end(JSON.stringify(body));
  await opened;
  return {
    id: lines[0].session,
    lines,
    isOver: () => gone.signal.aborted,
    over: isGone,
    hangUp: () => {
      sent.destroy();
    },
  };
}

export const isLost = async (session: HeldSession, why: string): Promise<void> => {
  await until(session.isOver);
  const last = session.lines.at(-1);
  if (last?.lost !== why) throw new Error(`it was told ${JSON.stringify(session.lines)}`);
};
