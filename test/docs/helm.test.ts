import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readQueuesFile } from '../../queuesFile/read.ts';
import { hashOf } from '../../scripts/helm.mjs';
import { SETTINGS } from '../../src/config/settings/all.ts';
import { ROOT, textOf } from '../support/sources.ts';

// biome-ignore lint/suspicious/noExplicitAny: objects of Kubernetes.
type Yaml = any;

const documentsOf = (file: string): Yaml[] =>
  parseAllDocuments(textOf(file))
    .map((one) => one.toJS())
    .filter((one) => one !== null);
const byKind = (objects: Yaml[]) => new Map<string, Yaml>(objects.map((one) => [one.kind, one]));

const kustomize = byKind(
  readdirSync(`${ROOT}deploy/kubernetes`)
    .filter((file) => file.endsWith('.yaml') && file !== 'kustomization.yaml')
    .concat(['components/service-monitor/servicemonitor.yaml', 'components/ingress/ingress.yaml'])
    .flatMap((file) => documentsOf(`deploy/kubernetes/${file}`)),
);
const rendered = { default: 'test/docs/helm/default.yaml', all: 'test/docs/helm/all.yaml' };
const chart = byKind(documentsOf(rendered.default));
const all = byKind(documentsOf(rendered.all));

/** Labels that Helm, or kustomize, adds to each object, and so to selectors. */
const ADDED = /^app\.kubernetes\.io\/(name|instance|version|managed-by)$/;
const without = (labels: object = {}) =>
  Object.fromEntries(Object.entries(labels).filter(([name]) => !ADDED.test(name)));

/** An object without what only one of the two tools has: labels, the tag of the image, how a Job is made anew. */
function plain(object: Yaml): Yaml {
  const copy = structuredClone(object);
  const clean = (value: Yaml): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const field of ['labels', 'matchLabels']) if (value[field]) value[field] = without(value[field]);
    Object.values(value).forEach(clean);
  };
  clean(copy);
  const { labels = {}, annotations: _, ...metadata } = copy.metadata;
  copy.metadata = { ...metadata, ...(Object.keys(labels).length > 0 && { labels }) };
  for (const container of copy.spec.template?.spec.containers ?? []) {
    container.image = container.image.replace(/:.*/, '');
    delete container.imagePullPolicy;
  }
  if (copy.kind === 'Service') copy.spec.selector = without(copy.spec.selector);
  // A namespace may hold more than this release.
  if (copy.kind === 'NetworkPolicy') delete copy.spec.podSelector;
  return copy;
}

const has = (tool: string) => spawnSync(tool, ['version'], { stdio: 'ignore' }).error === undefined;

describe('the Helm chart', () => {
  test.each(Object.values(rendered))('%s is of this chart: `npm run helm` writes it', (file) => {
    expect(textOf(file).split('\n')[0]).toBe(`# Chart ${hashOf(ROOT)}`);
  });

  test.skipIf(!has('helm'))('helm lints it, and renders just that', () => {
    const { stderr, status } = spawnSync('node', ['scripts/helm.mjs', '--check'], {
      cwd: ROOT,
      encoding: 'utf8',
    });
    expect([status, stderr]).toEqual([0, '']);
  });

  test('has the objects of the kustomize files, and with all choices those of the components', () => {
    const own = ['Namespace', 'Secret', 'Ingress', 'ServiceMonitor'];
    expect([...chart.keys()].sort()).toEqual(
      [...kustomize.keys()].filter((kind) => !own.includes(kind)).sort(),
    );
    expect([...all.keys()]).toEqual(
      expect.arrayContaining(['Ingress', 'ServiceMonitor', 'Secret', 'ConfigMap']),
    );
  });

  test.each([...chart.keys()])('its %s is that of the kustomize files', (kind) => {
    expect(plain(chart.get(kind))).toEqual(plain(kustomize.get(kind)));
  });

  test('its ServiceMonitor and Ingress are those of the components', () => {
    expect(plain(all.get('ServiceMonitor'))).toEqual(plain(kustomize.get('ServiceMonitor')));
    const ingress = all.get('Ingress');
    expect(ingress.metadata.annotations).toEqual(kustomize.get('Ingress').metadata.annotations);
    const other = JSON.parse(
      JSON.stringify(plain(ingress)).replaceAll('queue.example.com', 'dibs.example.com'),
    );
    expect(other).toEqual(plain(kustomize.get('Ingress')));
    const { ingress: allowed, egress } = all.get('NetworkPolicy').spec;
    expect(allowed[0].from).toHaveLength(2);
    expect(egress.some(({ ports }: Yaml) => ports[0].port === 4318)).toBe(true);
  });

  test('each selector finds the pods, and only those of its release', () => {
    const { labels } = chart.get('Deployment').spec.template.metadata;
    for (const kind of ['Deployment', 'Service', 'PodDisruptionBudget']) {
      const { selector } = chart.get(kind).spec;
      const wanted = selector.matchLabels ?? selector;
      expect(labels, kind).toMatchObject(wanted);
      expect(wanted, kind).toHaveProperty(['app.kubernetes.io/instance']);
    }
    for (const kind of ['Deployment', 'Job'])
      expect(chart.get(kind).spec.template.metadata.labels).toMatchObject(
        chart.get('NetworkPolicy').spec.podSelector.matchLabels,
      );
  });

  test('migrates before replicas start, with a Secret that is there by then', () => {
    const hook = { 'helm.sh/hook': 'pre-install,pre-upgrade' };
    expect(chart.get('Job').metadata.annotations).toMatchObject(hook);
    const secrets = documentsOf(rendered.all).filter(({ kind }) => kind === 'Secret');
    const owner = secrets.find(({ metadata }) => metadata.name === 'dibs-owner');
    expect(owner.metadata.annotations).toMatchObject({ ...hook, 'helm.sh/hook-weight': '-1' });
    const [from] = all.get('Job').spec.template.spec.containers[0].envFrom;
    expect(from).toEqual({ secretRef: { name: 'dibs-owner' } });
  });

  test('the value `queues` is a queues file, which replicas apply; another one restarts them', () => {
    const { spec, metadata } = all.get('Deployment').spec.template;
    const [{ env, volumeMounts }] = spec.containers;
    expect(env).toContainEqual({ name: 'QUEUES_FILE', value: '/etc/dibs-queues/queues.yaml' });
    expect(volumeMounts).toContainEqual({ name: 'queues', mountPath: '/etc/dibs-queues', readOnly: true });
    expect(spec.volumes).toContainEqual({ name: 'queues', configMap: { name: 'dibs-queues' } });
    expect(metadata.annotations['dibs/queues']).toMatch(/^[0-9a-f]{64}$/);
    const { wish } = readQueuesFile(Buffer.from(all.get('ConfigMap').data['queues.yaml']));
    expect(wish.queues?.get('mail')).toEqual({ max_leased: 20 });
    expect([...(wish.schedules?.keys() ?? [])]).toEqual(['nightly']);
  });

  test('variables are those that Dibs reads, numbers as they are, and a replica ends in the time that it has', () => {
    for (const objects of [chart, all]) {
      const { containers, terminationGracePeriodSeconds } = objects.get('Deployment').spec.template.spec;
      const env = new Map<string, string>(containers[0].env.map(({ name, value }: Yaml) => [name, value]));
      const known = [...Object.keys(SETTINGS), 'OTEL_EXPORTER_OTLP_ENDPOINT'];
      expect([...env.keys()].filter((name) => !known.includes(name))).toEqual([]);
      expect(terminationGracePeriodSeconds).toBeGreaterThanOrEqual(Number(env.get('DRAIN_SECONDS')) + 10);
    }
    expect(all.get('Deployment').spec.template.spec.containers[0].env).toContainEqual({
      name: 'MAX_MEMORY_BYTES',
      value: '1073741824',
    });
  });

  test('each value is described, and has the version of Dibs', () => {
    const values = parse(textOf('deploy/helm/values.yaml'));
    const { properties } = JSON.parse(textOf('deploy/helm/values.schema.json'));
    const { global: _, ...described } = properties;
    expect(Object.keys(values).sort()).toEqual(Object.keys(described).sort());
    for (const [name, value] of Object.entries<Yaml>(values))
      if (described[name].additionalProperties === false && name !== 'queues')
        expect(Object.keys(value).sort(), name).toEqual(Object.keys(described[name].properties).sort());
    const { version } = JSON.parse(textOf('package.json'));
    expect(parse(textOf('deploy/helm/Chart.yaml'))).toMatchObject({ appVersion: version });
  });
});
