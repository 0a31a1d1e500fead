import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { HttpLimits } from '../../../src/config/limits.ts';
import { onConnection } from './connections.ts';
import type { App } from './fastify.ts';

/** Connections that were opened together do not end together: each lives for a random part less than the whole time, up to this. */
const JITTER = 0.2;

export const lifeOf = (maxMs: number, random = Math.random()): number => maxMs * (1 - JITTER * random);

interface Life {
  endsAt: number;
  /** What the connection ends with. */
  last?: ServerResponse;
}

/**
 * Ends a connection that is old with an answer: the client opens another one, maybe to a new replica. A request, a wait and an answer go
 * on to their ends. Of requests that came together, the last one ends it.
 */
export function closeOldConnections(
  app: App,
  { maxConnectionMs }: Pick<HttpLimits, 'maxConnectionMs'>,
): void {
  if (maxConnectionMs === 0) return;
  const lives = new WeakMap<Socket, Life>();
  onConnection(app, (socket) => {
    lives.set(socket, { endsAt: performance.now() + lifeOf(maxConnectionMs) });
  });
  app.server.on('request', ({ socket }, response: ServerResponse) => {
    const life = lives.get(socket);
    if (life === undefined || performance.now() < life.endsAt) return;
    const { last } = life;
    if (last && !last.headersSent) last.removeHeader('connection');
    if (!response.headersSent) response.setHeader('connection', 'close');
    life.last = response;
  });
}
