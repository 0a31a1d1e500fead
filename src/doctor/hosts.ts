import { hostUrlsOf } from '../config/databaseHosts.ts';
import { causeOf } from '../postgres/outageLog.ts';
import { nameOf, probe } from '../postgres/probe.ts';
import type { Server } from '../postgres/timelines.ts';
import { type Finding, ok, problem, warning } from './finding.ts';
import type { Patient } from './patient.ts';

type Asked = { name: string; server?: Server; error?: unknown };

async function ask(hostUrl: string): Promise<Asked> {
  const name = nameOf(hostUrl);
  return probe(hostUrl).then(
    (server) => ({ name, server }),
    (error) => ({ name, error }),
  );
}

const what = ({ timeline }: Server) =>
  timeline === null ? 'a standby' : `the primary, at timeline ${timeline}`;

/** No server answers any more. */
const NOTHING: Server = { system: '', timeline: null, isReadOnly: true };

/** What the server at this host means for the others, of which `best` is the newest primary. */
function findingOf({ name, server, error }: Asked, best: Server): Finding {
  if (!server)
    return warning(
      'hosts',
      `${name} does not answer: ${causeOf(error)}.`,
      'A failover to it would be an outage.',
      'Start it, or take it out of DATABASE_URL.',
    );
  if (server.system !== best.system)
    return problem(
      'hosts',
      `${name} has the data of another cluster.`,
      'Dibs never serves from it: no failover to it is possible.',
      'Make it a standby of the primary, or take it out of DATABASE_URL.',
    );
  if (server.timeline !== null && server.timeline < (best.timeline ?? 0))
    return problem(
      'hosts',
      `${name} is a primary of before: it takes writes, at timeline ${server.timeline}.`,
      'A replica that starts while it reaches only this one writes to it, and that is lost.',
      'Stop it, and make it a standby of the new primary (pg_rewind).',
    );
  return ok('hosts', `${name} is ${what(server)}.`);
}

/** What is at the hosts of the URL, where it names several. */
export async function checkHosts({ url }: Patient): Promise<Finding[]> {
  const hostUrls = hostUrlsOf(url);
  if (hostUrls.length === 1) return [];
  const asked = await Promise.all(hostUrls.map(ask));
  const servers = asked.flatMap(({ server }) => server ?? []);
  const best = servers.toSorted((a, b) => (b.timeline ?? 0) - (a.timeline ?? 0))[0];
  return asked.map((one) => findingOf(one, best ?? NOTHING));
}
