import { connectionOptions } from '../postgres/connection.ts';
import { readOnly } from '../postgres/errorClasses.ts';
import type { OutageLog } from '../postgres/outageLog.ts';
import { SetClient } from '../postgres/session.ts';
import { planned } from '../postgres/statements.ts';
import { createEcho } from './echo.ts';

const statements = { takesWrites: planned('replicas/takes_writes') };

const RECONNECT_MS = 500;
/**
 * Where no echo ever came, LISTEN seems to go through a pooler. A new connection will hardly be better, so it can wait.
 */
const HOPELESS_MS = 30_000;

const NO_ECHO =
  'what this replica sends does not come back. LISTEN leads to another server, or through a pooler';

/**
 * The connection that listens to the notifications of all replicas. When it is lost, it is made again. It is lost, too,
 * when it leads to a server that takes no writes, or when what this replica sends does not come back: after a failover,
 * an old server may live on.
 */
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
  let isListening = false;
  let closed = false;
  const echo = createEcho((hasCome) => reconnect(new Error(NO_ECHO), hasCome ? RECONNECT_MS : HOPELESS_MS));

  async function listen(): Promise<void> {
    const listener = new SetClient(url, connectionOptions(url));
    const lost = (error: Error) => {
      if (client === listener) reconnect(error);
    };
    listener.on('error', lost);
    listener.on('end', () => lost(new Error('Connection terminated')));
    listener.on('notification', ({ payload }) => heard(payload));
    client = listener;
    try {
      await listener.connect();
      const { rows } = await listener.query(statements.takesWrites.text);
      if (!rows[0].takes_writes) throw readOnly();
      await listener.query('listen dibs');
      echo.begin();
      isListening = true;
      listening();
    } catch (error) {
      lost(error as Error);
    }
  }

  function reconnect(error: Error, afterMs = RECONNECT_MS): void {
    client?.end().catch(() => undefined);
    client = undefined;
    isListening = false;
    echo.forget();
    if (closed) return;
    state?.failed(error);
    retry = setTimeout(listen, afterMs);
  }

  return {
    /** Whether it listens, and what this replica sent came back in time. */
    hears: (): boolean => isListening && echo.comes(),

    /** Resolves after the first try to connect, whatever came of it. */
    start: listen,

    /** This replica sends a notification. */
    expectEcho(): void {
      if (isListening) echo.expect();
    },

    /** It could not send it. */
    forgetEcho: echo.forget,

    /** A notification of this replica has come back. */
    echoed(): void {
      echo.came();
      state?.served();
    },

    async stop(): Promise<void> {
      closed = true;
      clearTimeout(retry);
      echo.forget();
      const last = client;
      client = undefined;
      await last?.end().catch(() => undefined);
    },
  };
}

export type Listener = ReturnType<typeof createListener>;
