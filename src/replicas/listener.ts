import { connectionOptions } from '../postgres/connection.ts';
import { readOnly } from '../postgres/errorClasses.ts';
import type { OutageLog } from '../postgres/outageLog.ts';
import { SetClient } from '../postgres/session.ts';
import { planned } from '../postgres/statements.ts';

const statements = { takesWrites: planned('replicas/takes_writes') };

const RECONNECT_MS = 500;
/** A notification of this replica comes back to it, too: its echo. Without an echo in this time, it connects again. */
const ECHO_MS = 5000;
/** When an echo takes longer than this, Dibs does not count on notifications. */
const LATE_MS = 2000;
/**
 * Where no echo ever came, LISTEN seems to go through a pooler. A new connection will hardly be better, so it can wait.
 */
const HOPELESS_MS = 30_000;

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
  let echo: NodeJS.Timeout | undefined;
  let echoFrom = 0;
  let hasEchoed = false;
  let isListening = false;
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
      const { rows } = await listener.query(statements.takesWrites.text);
      if (!rows[0].takes_writes) throw readOnly();
      await listener.query('listen dibs');
      hasEchoed = false;
      isListening = true;
      listening();
    } catch (error) {
      if (client === listener) reconnect(error as Error);
    }
  }

  function reconnect(error: Error, afterMs = RECONNECT_MS): void {
    client?.end().catch(() => undefined);
    client = undefined;
    isListening = false;
    forgetEcho();
    if (closed) return;
    state?.failed(error);
    retry = setTimeout(listen, afterMs);
  }

  function forgetEcho(): void {
    clearTimeout(echo);
    echo = undefined;
  }

  function expectEcho(): void {
    if (!isListening || echo) return;
    echoFrom = performance.now();
    echo = setTimeout(() => {
      const why =
        'what this replica sends does not come back. LISTEN leads to another server, or through a pooler';
      reconnect(new Error(why), hasEchoed ? RECONNECT_MS : HOPELESS_MS);
    }, ECHO_MS).unref();
  }

  return {
    /** Whether it listens, and what this replica sent came back in time. */
    hears: (): boolean => isListening && hasEchoed && !(echo && performance.now() > echoFrom + LATE_MS),

    /** Resolves after the first try to connect, whatever came of it. */
    start: listen,

    /** This replica sends a notification. */
    expectEcho,

    /** It could not send it. */
    forgetEcho,

    /** A notification of this replica has come back. */
    echoed(): void {
      hasEchoed = true;
      forgetEcho();
      state?.served();
    },

    async stop(): Promise<void> {
      closed = true;
      clearTimeout(retry);
      forgetEcho();
      const last = client;
      client = undefined;
      await last?.end().catch(() => undefined);
    },
  };
}

export type Listener = ReturnType<typeof createListener>;
