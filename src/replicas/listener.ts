import { connectionOptions } from '../postgres/connection.ts';
import type { OutageLog } from '../postgres/outageLog.ts';
import { SetClient } from '../postgres/session.ts';

const RECONNECT_MS = 500;

/** The connection that listens to the notifications of all replicas. When it is lost, it is made again. */
export function createListener(options: {
  url: string;
  /** Is called when the connection listens, for the first time or again. Notifications from before may be lost. */
  listening(): void;
  heard(notification: string | undefined): void;
  /** Hears when the connection is lost, and when it listens again. */
  state?: OutageLog | undefined;
}) {
  const { url, listening, heard, state } = options;
  let client: SetClient | undefined;
  let retry: NodeJS.Timeout | undefined;
  let closed = false;

  async function listen(): Promise<void> {
    const listener = new SetClient(connectionOptions(url));
    listener.on('error', (error) => {
      if (client === listener) reconnect(error);
    });
    listener.on('end', () => {
      if (client === listener) reconnect(new Error('Connection terminated'));
    });
    listener.on('notification', ({ payload }) => heard(payload));
    client = listener;
    try {
      await listener.connect();
      await listener.query('listen dibs');
      state?.served();
      listening();
    } catch (error) {
      if (client === listener) reconnect(error as Error);
    }
  }

  function reconnect(error: Error): void {
    client?.end().catch(() => undefined);
    client = undefined;
    if (closed) return;
    state?.failed(error);
    retry = setTimeout(listen, RECONNECT_MS);
  }

  return {
    /** Settles after the first try to connect. */
    start: listen,

    async stop(): Promise<void> {
      closed = true;
      clearTimeout(retry);
      const last = client;
      client = undefined;
      await last?.end().catch(() => undefined);
    },
  };
}
