// Writes what Helm makes of the chart: test/docs/helm/default.yaml, and all.yaml with every choice. Tests compare them with the
// kustomize files, also where there is no Helm. Their first line tells which chart they are of. With --check, it only fails if they
// are stale. `npm run helm` runs it. It needs `helm`:
//   go install helm.sh/helm/v3/cmd/helm@v3.22.0

import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { writeCurrent } from './current.mjs';

const CHART = 'deploy/helm';
const CHOICES = 'test/docs/helm/all.values.yaml';

/** Of all that the chart is made of, but its version: a release changes that, and needs no Helm. */
export const hashOf = (root = '') =>
  readdirSync(`${root}${CHART}`, { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(yaml|tpl)$/.test(file) && file !== 'Chart.yaml')
    .sort()
    .reduce(
      (hash, file) => hash.update(file).update(readFileSync(`${root}${CHART}/${file}`)),
      createHash('sha256').update(readFileSync(`${root}${CHOICES}`)),
    )
    .digest('hex')
    .slice(0, 16);

function helm(...args) {
  const { stdout, stderr, status, error } = spawnSync('helm', args, { encoding: 'utf8' });
  if (error) throw error;
  if (status !== 0) throw new Error(`helm ${args[0]}: ${stdout}${stderr}`);
  return stdout;
}

const [, version] = /^appVersion: "(.+)"$/m.exec(
  readFileSync(new URL(`../${CHART}/Chart.yaml`, import.meta.url), 'utf8'),
);

/** A Helm that was built from its sources takes the cluster for an old one. */
const rendered = (...more) =>
  `# Chart ${hashOf()}\n${helm('template', 'dibs', CHART, '--namespace', 'dibs', '--kube-version', '1.30.0', ...more)}`.replaceAll(
    version,
    'VERSION',
  );

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  helm('lint', '--strict', CHART);
  helm('lint', '--strict', CHART, '--values', CHOICES);
  mkdirSync('test/docs/helm', { recursive: true });
  writeCurrent('test/docs/helm/default.yaml', rendered());
  writeCurrent(
    'test/docs/helm/all.yaml',
    rendered('--values', CHOICES, '--api-versions', 'monitoring.coreos.com/v1'),
  );
}
