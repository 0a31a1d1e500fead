import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { SETTINGS } from '../../src/config/settings/all.ts';
import { ROOT, textOf } from '../support/sources.ts';

// biome-ignore lint/suspicious/noExplicitAny: files of many kinds.
type Yaml = any;
const { parse, parseAllDocuments } = createRequire(import.meta.url)('yaml') as {
  parse(text: string): Yaml;
  parseAllDocuments(text: string): { toJS(): Yaml; errors: unknown[] }[];
};

const files = readdirSync(`${ROOT}deploy`, { recursive: true, encoding: 'utf8' })
  // Templates of Helm are no YAML yet: helm.test.ts looks at what they become.
  .filter((file) => file.endsWith('.yaml') && !file.startsWith('helm/templates/'))
  .map((file) => `deploy/${file}`);
const documentsOf = (file: string): Yaml[] => parseAllDocuments(textOf(file)).map((one) => one.toJS());
const kinds = new Map<string, Yaml>(
  readdirSync(`${ROOT}deploy/kubernetes`)
    .filter((file) => file.endsWith('.yaml') && file !== 'kustomization.yaml')
    .concat(['components/service-monitor/servicemonitor.yaml', 'components/ingress/ingress.yaml'])
    .flatMap((file) => documentsOf(`deploy/kubernetes/${file}`))
    .map((one) => [one.kind, one]),
);
/** Every choice among these, but none of them. */
const subsetsOf = (names: string[]): [string[]][] =>
  Array.from({ length: 2 ** names.length - 1 }, (_, i) => [names.filter((_, bit) => (i + 1) & (1 << bit))]);
const has = (tool: string) => spawnSync(tool, ['--version'], { stdio: 'ignore' }).error === undefined;

/** SIGTERM ends Dibs within this time after DRAIN_SECONDS. */
const END_SECONDS = 10;

/** The variables that Dibs reads. */
const variables = Object.keys(SETTINGS);

test.each(files)('%s is YAML', (file) => {
  const documents = parseAllDocuments(textOf(file));
  expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
  expect(documents.every((one) => one.toJS() !== null)).toBe(true);
});

describe('deploy/compose.yaml', () => {
  const { services } = parse(textOf('deploy/compose.yaml')) as { services: Record<string, Yaml> };
  const replicas = Object.entries(services).filter(([name]) => name.startsWith('dibs-'));
  const hosts = replicas.map(([name]) => name);

  test('three replicas end gracefully, and may do nothing but serve', () => {
    expect(hosts.length).toBe(3);
    for (const [, replica] of replicas) {
      expect(replica).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
      const drain = Number(replica.environment.DRAIN_SECONDS);
      expect(Number.parseInt(replica.stop_grace_period, 10)).toBeGreaterThanOrEqual(drain + END_SECONDS);
      expect(Object.keys(replica.environment).filter((name) => !variables.includes(name))).toEqual([]);
    }
  });

  test('the proxy and Prometheus know each replica', () => {
    const servers = [...textOf('deploy/haproxy/haproxy.cfg').matchAll(/^ +server \S+ (\S+)$/gm)];
    expect(servers.map((match) => match[1])).toEqual(hosts.map((host) => `${host}:8080`));
    const [scrape] = parse(textOf('deploy/prometheus/prometheus.yaml')).scrape_configs;
    expect(scrape.static_configs[0].targets).toEqual(hosts.map((host) => `${host}:8080`));
  });

  test('each image has a version of its own, and each port is open to this machine only', () => {
    for (const { image, ports = [] } of Object.values(services)) {
      expect(image).toMatch(/:v?\d+\.\d+/);
      for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
    }
  });

  test('the proxy notices before a replica ends: its looks fit into DRAIN_SECONDS', () => {
    const [, inter, fall] = /inter (\d+)s fall (\d+)/.exec(textOf('deploy/haproxy/haproxy.cfg')) ?? [];
    const drain = Number(services['dibs-1'].environment.DRAIN_SECONDS);
    expect(Number(inter) * (Number(fall) + 1)).toBeLessThanOrEqual(drain);
  });
});

describe('deploy/kubernetes', () => {
  const { spec } = kinds.get('Deployment');
  const pod = spec.template.spec;
  const [container] = pod.containers;

  test('the kustomization has every file', () => {
    const { resources } = parse(textOf('deploy/kubernetes/kustomization.yaml'));
    const all = readdirSync(`${ROOT}deploy/kubernetes`).filter(
      (file) => file.endsWith('.yaml') && file !== 'kustomization.yaml',
    );
    expect(resources.toSorted()).toEqual(all.sort());
  });

  test.each([
    ['Deployment', pod],
    ['Job', kinds.get('Job').spec.template.spec],
  ])(
    'the pods of the %s run without root, capabilities and a writable file system',
    (_, { containers, ...one }) => {
      expect(one.automountServiceAccountToken).toBe(false);
      expect(one.securityContext).toMatchObject({
        runAsNonRoot: true,
        seccompProfile: { type: 'RuntimeDefault' },
      });
      expect(containers[0].securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
    },
  );

  test('a replica is asked whether it is ready, and ends in the time that it has', () => {
    expect(container.readinessProbe.httpGet.path).toBe('/readyz');
    expect(container.livenessProbe.httpGet.path).toBe('/healthz');
    const drain = Number(container.env.find(({ name }: { name: string }) => name === 'DRAIN_SECONDS').value);
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(drain + END_SECONDS);
    const { periodSeconds, failureThreshold } = container.readinessProbe;
    expect(periodSeconds * (failureThreshold + 1)).toBeLessThanOrEqual(drain);
    const names = container.env.map(({ name }: { name: string }) => name);
    expect(names.filter((name: string) => !variables.includes(name))).toEqual([]);
  });

  test('probes and Prometheus ask the port that needs no key, and only Prometheus may reach it', () => {
    const port = Number(container.env.find(({ name }: { name: string }) => name === 'METRICS_PORT').value);
    expect(container.ports).toContainEqual({ name: 'metrics', containerPort: port });
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      expect(container[probe].httpGet.port).toBe('metrics');
    expect(spec.template.metadata.annotations['prometheus.io/port']).toBe(String(port));
    expect(kinds.get('ServiceMonitor').spec.endpoints).toMatchObject([{ port: 'metrics' }]);
    expect(kinds.get('Service').spec.ports).toContainEqual({ name: 'metrics', port, targetPort: 'metrics' });
    const monitoring = {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'monitoring' } },
    };
    const rules = kinds.get('NetworkPolicy').spec.ingress.filter((rule: Yaml) => rule.ports[0].port === port);
    expect(rules).toEqual([{ ports: [{ port, protocol: 'TCP' }], from: [monitoring] }]);
    const { backend } = kinds.get('Ingress').spec.rules[0].http.paths[0];
    expect(backend.service).toEqual({ name: 'dibs', port: { name: 'http' } });
  });

  test('each selector finds the pods', () => {
    const labels = spec.template.metadata.labels;
    for (const kind of ['Service', 'PodDisruptionBudget', 'ServiceMonitor']) {
      const { selector } = kinds.get(kind).spec;
      expect(labels, kind).toMatchObject(selector.matchLabels ?? selector);
    }
    expect(kinds.get('HorizontalPodAutoscaler').spec.scaleTargetRef.name).toBe('dibs');
  });

  test.skipIf(!has('kubectl'))('kubectl builds it', () => {
    const { stdout, status } = spawnSync('kubectl', ['kustomize', `${ROOT}deploy/kubernetes`], {
      encoding: 'utf8',
    });
    expect(status).toBe(0);
    expect(stdout).toMatch(/image: dibs:0\.1\.0/);
    const [policy] = parseAllDocuments(stdout)
      .map((one) => one.toJS())
      .filter(({ kind }) => kind === 'NetworkPolicy');
    // Clients are not named dibs.
    expect(policy.spec.ingress[0].from[0].podSelector.matchLabels).toEqual({ 'dibs-client': 'true' });
  });

  const components = ['service-monitor', 'ingress', 'otlp'];
  test.skipIf(!has('kubectl')).each(subsetsOf(components))('kubectl builds it with %j', (chosen) => {
    const folder = mkdtempSync(join(tmpdir(), 'dibs-kubernetes-'));
    cpSync(`${ROOT}deploy/kubernetes`, folder, { recursive: true });
    const file = join(folder, 'kustomization.yaml');
    let text = readFileSync(file, 'utf8').replace('# components:', 'components:');
    for (const name of chosen) text = text.replace(`#   - components/${name}`, `  - components/${name}`);
    writeFileSync(file, text);
    const { stdout, stderr, status } = spawnSync('kubectl', ['kustomize', folder], { encoding: 'utf8' });
    rmSync(folder, { recursive: true });
    expect([status, stderr]).toEqual([0, '']);
    const built = parseAllDocuments(stdout).map((one) => one.toJS());
    const isThere = (kind: string) => built.some((one) => one.kind === kind);
    expect(isThere('ServiceMonitor')).toBe(chosen.includes('service-monitor'));
    expect(isThere('Ingress')).toBe(chosen.includes('ingress'));
    const { ingress, egress } = built.find(({ kind }) => kind === 'NetworkPolicy').spec;
    expect(ingress[0].from).toHaveLength(chosen.includes('ingress') ? 2 : 1);
    const isOut = egress.some(({ ports }: Yaml) => ports[0].port === 4318);
    expect(isOut).toBe(chosen.includes('otlp'));
  });
});

describe('deploy/systemd/dibs.service', () => {
  const unit = textOf('deploy/systemd/dibs.service');

  test('it ends in the time that it has, and may do nothing but serve', () => {
    expect(Number(/^TimeoutStopSec=(\d+)s$/m.exec(unit)?.[1])).toBeGreaterThan(END_SECONDS);
    for (const line of ['ProtectSystem=strict', 'NoNewPrivileges=yes', 'CapabilityBoundingSet=', 'User=dibs'])
      expect(unit).toContain(`\n${line}\n`);
  });

  test('its installation builds with the tools, and then leaves them out', () => {
    const [installed] = /npm ci.*/.exec(unit) ?? [];
    expect(installed).toMatch(/^npm ci && npm run build && npm ci --omit=dev\b/);
  });

  test.skipIf(!has('systemd-analyze'))('systemd accepts it', () => {
    const { stderr } = spawnSync('systemd-analyze', ['verify', `${ROOT}deploy/systemd/dibs.service`], {
      encoding: 'utf8',
    });
    // Whether the program and the user are there is up to the machine.
    const complaints = stderr
      .split('\n')
      .filter((line) => line.includes('dibs.service') && !/not executable|No such file/.test(line));
    expect(complaints).toEqual([]);
  });
});

test('the programs that are scaled are those that the metrics know', () => {
  const { spec } = parse(textOf('deploy/keda/scaledobject.yaml'));
  for (const { metadata } of spec.triggers)
    for (const name of metadata.query.match(/dibs_\w+/g))
      expect(textOf('docs/metrics.md')).toContain(`\`${name}\``);
});
