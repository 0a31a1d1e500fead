import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from '../../bench/lib/ports.mjs';

export const hasPrometheus = spawnSync('prometheus', ['--version'], { stdio: 'ignore' }).status === 0;

/**
 * Starts a Prometheus of its own, with its data in a temporary folder. It scrapes `targets` (host:port) as the job "dibs",
 * every 2 s. `rules` is the text of a rule file.
 */
export async function startPrometheus({ targets, rules = 'groups: []' }) {
  const folder = await mkdtemp(join(tmpdir(), 'dibs-prometheus-'));
  const targetsFile = join(folder, 'targets.json');
  const setTargets = (list) => writeFile(targetsFile, JSON.stringify([{ targets: list }]));
  await setTargets(targets);
  await writeFile(join(folder, 'rules.yaml'), rules);
  // JSON is YAML.
  const config = {
    global: { scrape_interval: '2s', scrape_timeout: '2s', evaluation_interval: '1s' },
    rule_files: ['rules.yaml'],
    scrape_configs: [
      { job_name: 'dibs', file_sd_configs: [{ files: ['targets.json'], refresh_interval: '1s' }] },
    ],
  };
  await writeFile(join(folder, 'prometheus.yml'), JSON.stringify(config));

  const address = `127.0.0.1:${await freePort()}`;
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=${address}`,
      '--log.level=warn',
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], detached: true },
  );
  let said = '';
  child.stderr.on('data', (chunk) => {
    said += chunk;
  });
  const ended = once(child, 'exit');
  ended.catch(() => undefined);
  const url = `http://${address}`;

  async function stop() {
    child.kill('SIGTERM');
    await ended;
    await rm(folder, { recursive: true, force: true });
  }

  async function get(path) {
    const response = await fetch(`${url}/api/v1/${path}`);
    const answer = await response.json();
    if (answer.status !== 'success') throw new Error(`Prometheus: ${answer.error}`);
    return answer.data;
  }

  for (;;) {
    if (child.exitCode !== null) throw new Error(`prometheus ended with ${child.exitCode}:\n${said}`);
    const isReady = await fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isReady) break;
    await sleep(50);
  }

  return {
    url,
    stop,
    setTargets,
    /** The series that a query gives now: their labels and values. */
    async query(expression) {
      const { result, resultType } = await get(`query?query=${encodeURIComponent(expression)}`);
      if (resultType === 'scalar') return [{ labels: {}, value: Number(result[1]) }];
      return result.map(({ metric, value }) => ({ labels: metric, value: Number(value[1]) }));
    },
    /** The alerts that fire, or are about to (`state`: pending). */
    alerts: async () => (await get('alerts')).alerts,
  };
}
