import { resolve } from 'node:path';
import type { Ready } from '../serve.ts';
import { hostUrlsOf } from '../src/config/databaseHosts.ts';
import type { Config } from '../src/config.ts';
import type { Paint } from './remote/terminal.ts';
import { Shown, shown, shownTogether } from './shown.ts';

/** Where this machine reaches what listens on all addresses. */
const HERE: Record<string, string> = { '0.0.0.0': '127.0.0.1', '::': '[::1]', '::1': '[::1]' };

export const addressOf = ({ host, tls }: Config, port: number): string =>
  `${tls ? 'https' : 'http'}://${HERE[host] ?? host}:${port}`;

/** The first request that somebody may send. It runs as printed. */
const firstJob = (address: string, needsKey: boolean) =>
  `curl -sS --fail-with-body${needsKey ? ' -H "authorization: Bearer $DIBS_KEY"' : ''} ${address}/jobs --json '{"queue": "mail", "payload": 1}'`;

/** Where commands find a Dibs that nobody names to them. */
export const USUAL_ADDRESS = 'http://127.0.0.1:8080';

const demo = (address: string) =>
  address === USUAL_ADDRESS ? 'npm run demo' : `DIBS_URL=${address} npm run demo`;

/** What somebody who has started Dibs on a terminal may want to know. */
export function banner(config: Config, { port, needsKey }: Ready, paint: Paint): Shown {
  const address = addressOf(config, port);
  const { databaseUrl, dataDir } = config;
  const data = databaseUrl
    ? `the PostgreSQL at ${hostUrlsOf(databaseUrl)
        .map((url) => new URL(url).host)
        .join(', ')}`
    : `${resolve(dataDir)} (an embedded PostgreSQL)`;
  const rows: [string, string][] = [
    ['Dashboard', `${address}/`],
    ['API docs', `${address}/docs`],
    ['Data', data],
    ['First job', firstJob(address, needsKey)],
    ['See it work', demo(address)],
    ['Stop', 'Ctrl-C'],
  ];
  return shownTogether(
    rows.map(([name, what]) => shown`  ${paint('bold', new Shown(name.padEnd(13)))}${what}\n`),
  );
}
