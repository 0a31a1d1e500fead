import pg from 'pg';
import { addressOptions } from './address.ts';
import { outageAsRefusal } from './errorClasses.ts';
import { type Hosts, hostsOf } from './hosts.ts';
import { ROUND_TRIP_MS } from './pipeline.ts';

/** How a connection is made. A call that the database does not answer fails within 4.5 s in all. */
export const connectionOptions = (url: string): pg.ClientConfig => ({
  ...addressOptions(url),
  application_name: 'dibs',
  connectionTimeoutMillis: 1500,
  query_timeout: ROUND_TRIP_MS,
  keepAlive: true,
  keepAliveInitialDelayMillis: 10_000,
});

/** The host of each connection that was made to one of several. */
const madeTo = new WeakMap<pg.ClientBase, string>();

/** The URL of the host that a connection was made to. */
export const hostUrlOf = (client: pg.ClientBase, url: string): string => madeTo.get(client) ?? url;

type Connected = (error: Error | null, client?: pg.Client) => void;

/** What PostgreSQL warns from when somebody cancelled the wait of a commit for a synchronous standby. */
const STANDBY_WAIT = 'SyncRepWaitForLSN';

/** The server goes on to say that the commit is done. So its call fails before that is heard. */
function failUnconfirmed(client: pg.Client): void {
  const { connection } = client as unknown as { connection: pg.Connection };
  connection.emit(
    'error',
    new Error('Connection terminated: a commit is here, and perhaps on no synchronous standby'),
  );
  connection.stream.destroy();
}

/** A connection to the database of a URL. Of several hosts, it is the one that serves. */
export class DatabaseClient extends pg.Client {
  readonly #hosts: Hosts;

  constructor(url: string, options: pg.ClientConfig) {
    super(options);
    this.#hosts = hostsOf(url);
    // What runs on it fails. But an error event without any listener would end the process.
    this.on('error', () => undefined);
    this.on('notice', (notice) => {
      if (notice.routine === STANDBY_WAIT) failUnconfirmed(this);
    });
  }

  /** Connects, and makes it ready for use. */
  protected async open(): Promise<pg.Client> {
    const hosts = this.#hosts;
    if (!hosts.isChecked) return super.connect();
    const hostUrl = await hosts.choose();
    // The driver takes one host when the connection is made. It reads it when it connects.
    const { host, port } = new pg.Client(addressOptions(hostUrl));
    Object.assign(this, { host, port });
    madeTo.set(this, hostUrl);
    try {
      await super.connect();
      await hosts.check(this, hostUrl);
      return this;
    } catch (error) {
      hosts.distrust(hostUrl);
      this.end().catch(() => undefined);
      throw error;
    }
  }

  override connect(): Promise<pg.Client>;
  override connect(callback: Connected): void;
  override connect(callback?: Connected): Promise<pg.Client> | undefined {
    const opened = this.open();
    if (!callback) return opened;
    opened.then((client) => callback(null, client), callback);
    return undefined;
  }
}

/** Connects, and closes the connection. @throws Refusal `unavailable` */
export async function tryConnection(url: string): Promise<void> {
  const client = new DatabaseClient(url, connectionOptions(url));
  try {
    await client.connect();
  } catch (error) {
    throw outageAsRefusal(error);
  } finally {
    await client.end().catch(() => undefined);
  }
}
