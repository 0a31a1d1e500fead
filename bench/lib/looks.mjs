import pg from 'pg';

/** The URL for a replica whose connections have a name, by which `watchLooks` knows it. */
export function namedUrl(databaseUrl, name) {
  const url = new URL(databaseUrl);
  url.searchParams.set('application_name', name);
  return url.href;
}

/**
 * Hears which replica looks for what is due (src/maintenance/rest.ts). `looked` hears its name and in how many ms something is due,
 * of each look. Begin before the replicas start: each tells the others then, and so its name becomes known.
 */
export async function watchLooks(databaseUrl, looked = () => undefined) {
  const client = new pg.Client(databaseUrl);
  client.on('error', () => undefined);
  await client.connect();
  /** The names of replicas, by how they call themselves in notifications. */
  const names = new Map();
  let last;

  async function learn(sender, pid) {
    const { rows } = await client.query(
      'select application_name as name from pg_stat_activity where pid = $1',
      [pid],
    );
    if (rows.length > 0) names.set(sender, rows[0].name);
  }

  async function hear({ payload, processId }) {
    const [verb, sender, about] = payload.split(' ');
    if (sender === 'sql') return;
    if (!names.has(sender)) await learn(sender, processId);
    if (verb !== 'looked') return;
    last = names.get(sender);
    looked(last, about ? Number(about) : undefined);
  }

  client.on('notification', (notification) => void hear(notification).catch(() => undefined));
  await client.query('listen dibs');
  return {
    /** The replica that looked last. When something is due, it looks first. */
    last: () => last,
    close: () => client.end(),
  };
}
