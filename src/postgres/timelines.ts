import type pg from 'pg';

/** What a server is. */
export interface Server {
  /** Of the cluster whose data it has: the standbys have the same. */
  system: string;
  /** It grows by one whenever a standby is promoted. Null: this server is a standby. */
  timeline: number | null;
  isReadOnly: boolean;
}

/** The newest timeline that this process has seen, by the cluster. */
const newest = new Map<string, number>();

/** The open connections whose server is known. */
const open = new Map<pg.Client, Server>();

export const newestTimeline = (system: string): number | undefined => newest.get(system);

/** Its message begins as those of the driver do: what runs on the connection may have been done. */
const ended = (timeline: number) =>
  new Error(`Connection terminated: timeline ${timeline} was seen, and this server is at an older one`);

/** Ends the connections to primaries of before: nothing more is written there. */
export function noteTimeline({ system, timeline }: Server): void {
  if (timeline === null || timeline <= (newest.get(system) ?? 0)) return;
  newest.set(system, timeline);
  for (const [client, server] of open)
    if (server.system === system && server.timeline !== null && server.timeline < timeline)
      (client as unknown as { connection: pg.Connection }).connection.stream.destroy(ended(timeline));
}

/** From now on it ends when its server is not the primary any more. */
export function holdOpen(client: pg.Client, server: Server): void {
  open.set(client, server);
  client.once('end', () => open.delete(client));
}
