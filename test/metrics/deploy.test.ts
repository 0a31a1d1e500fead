import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { createOtherDatabase } from '../support/database.ts';
import { parseMetrics } from '../support/exposition.ts';
import { hasPromtool } from '../support/promtool.ts';
import { startService } from '../support/service.ts';
import { ROOT, textOf } from '../support/sources.ts';

const rules = textOf('deploy/prometheus/rules.yaml');
const board = textOf('deploy/grafana/dashboard.json');
const page = textOf('docs/metrics.md');

/** Metrics by the rows of docs/metrics.md. */
const explained = [...page.matchAll(/^\| `((?:dibs|process)_\w+)` \|/gm)].map((match) => match[1] as string);
const METRIC = /\b(?:dibs|process)_[a-z_]+\b/g;
const familyOf = (name: string) => name.replace(/_(bucket|sum|count)$/, '');

test('docs/metrics.md explains each metric, and no other', async () => {
  // Some are told only where there are several databases.
  const other = await createOtherDatabase();
  const service = await startService({ others: { other: other.url } });
  try {
    await service.call('POST', '/jobs', { queue: 'q' });
    await service.call('PUT', '/queues/limited', { max_ready: 1 });
    await service.call('POST', '/jobs', { queue: 'limited' });
    await service.call('GET', '/nothing');
    const { text } = await service.call('GET', '/metrics');
    expect(explained.toSorted()).toEqual([...parseMetrics(text).types.keys()].sort());
  } finally {
    await service.stop();
    await other.drop();
  }
});

describe('the rules and the dashboard', () => {
  test('use only metrics that exist', () => {
    for (const text of [rules.replaceAll(/^#.*$/gm, ''), board]) {
      const used = new Set((text.match(METRIC) ?? []).map(familyOf));
      expect(used.size).toBeGreaterThan(5);
      expect([...used].filter((name) => !explained.includes(name))).toEqual([]);
    }
  });

  test('each alert has a test that sees it fire', () => {
    const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map((match) => match[1] as string);
    expect(alerts.length).toBeGreaterThan(10);
    for (const alert of alerts)
      expect(textOf('deploy/prometheus/rules.test.yaml')).toContain(`alertname: ${alert}\n`);
  });

  test('every panel of the dashboard asks something, and none lies over another', () => {
    const { panels } = JSON.parse(board) as {
      panels: {
        type: string;
        title: string;
        targets?: { expr: string }[];
        gridPos: Record<string, number>;
      }[];
    };
    const places = panels.map(({ gridPos: { x, y } }) => `${x} ${y}`);
    expect(new Set(places).size).toBe(places.length);
    for (const { type, title, targets } of panels)
      if (type !== 'row')
        expect(
          targets?.every(({ expr }) => expr.length > 5),
          title,
        ).toBe(true);
  });

  test('each line of a panel about a database names it', () => {
    const { panels } = JSON.parse(board) as {
      panels: { targets?: { expr: string; legendFormat?: string }[] }[];
    };
    const ofDatabase = /dibs_(?:database|queue|jobs?|duty|round_trip|totals|relay)_/;
    const lines = panels
      .flatMap(({ targets = [] }) => targets)
      .filter(
        ({ expr, legendFormat }) => ofDatabase.test(expr) && legendFormat && legendFormat !== '{{state}}',
      );
    expect(lines.length).toBeGreaterThan(15);
    expect(lines.filter(({ legendFormat }) => !legendFormat?.includes('{{database}}'))).toEqual([]);
  });

  describe.skipIf(!hasPromtool)('promtool', () => {
    const run = (...args: string[]) =>
      execFileSync('promtool', args, { cwd: `${ROOT}deploy/prometheus`, encoding: 'utf8' });

    test('accepts the rules', () => {
      expect(run('check', 'rules', 'rules.yaml')).toContain('SUCCESS');
    });

    test('sees each alert fire for its reason', () => {
      expect(run('test', 'rules', 'rules.test.yaml')).toContain('SUCCESS');
    });

    test('sees no alert fire in any of 20 and more situations that are fine', () => {
      expect(run('test', 'rules', 'rules.fine.test.yaml')).toContain('SUCCESS');
      const fine = textOf('deploy/prometheus/rules.fine.test.yaml');
      const situations = fine.split('\n  - name: ').slice(1);
      expect(situations.length).toBeGreaterThanOrEqual(20);
      for (const situation of situations) expect(situation).toContain('ALERTS{alertstate="firing"}');
    });
  });
});
