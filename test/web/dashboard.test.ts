import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { columnNames, columnOf, nameOf } from '../../src/jobFields.ts';
import { adHoc } from '../support/adHoc.ts';
import { axeFindings, hasBrowser } from '../support/browser.ts';
import { button, dialog, EVERYTHING, heading, useDashboard } from '../support/dashboard.ts';
import { gateOperations } from '../support/operationGate.ts';
import { until } from '../support/until.ts';

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const ODD =
  '{"amount": 12345678901234567890, "rate":1.0,"dup":1,"dup":2, "big":1e400,"html":"<script>window.ran=1</script>"}';
const FOCUSED = 'document.activeElement?.textContent';
/** Puts a script into the page, and waits for what the policy says of it. */
const ADD_SCRIPT = `new Promise((resolve) => {
  document.addEventListener('securitypolicyviolation', (event) => resolve(event.effectiveDirective));
  const script = document.createElement('script');
  script.textContent = 'window.ran = 1';
  document.body.append(script);
})`;

/** Swagger UI wants a style of its own, which the policy refuses. It does without. */
const SWAGGER = /Applying inline style .*swagger-ui-bundle/s;

const MANY = adHoc(
  "insert into dibs.queues (name, paused) select 'many.' || lpad(i::text, 5, '0'), true from generate_series(0, 9999) as i",
);

const { at, root, enqueue, bury, visit } = useDashboard();

describe.skipIf(!hasBrowser)('all queues', () => {
  test('those with trouble stand first, with words, and the sums of all', async () => {
    await bury('orders', 'boom', 3);
    await enqueue('calm');
    await root('POST', '/queues/stopped/pause');
    await visit('', async (page) => {
      await heading(page, 'Queues');
      await page.getByRole('link', { name: 'orders' }).waitFor();
      const rows = page.locator('[data-row]');
      // A rate is the difference of two samples: jobs must become dead while somebody looks.
      let dead = 3;
      await until(
        async () => {
          if ((await rows.first().textContent())?.includes('dead growing')) return true;
          dead += (await bury('orders', 'boom', 1)).length;
          return false;
        },
        { everyMs: 1000, what: 'the queue whose dead jobs grow in the first row' },
      );
      const names = await rows.locator('a:first-child').allTextContents();
      expect(names.indexOf('stopped')).toBeLessThan(names.indexOf('calm'));
      expect(await page.locator('tr', { hasText: 'stopped' }).textContent()).toContain('paused');
      expect(await page.getByLabel('All queues together').textContent()).toMatch(/Dead\d/);
      await page.getByRole('img', { name: /^Jobs, the last hour\. Now: waiting/ }).waitFor();
      await page.locator('tr', { hasText: 'orders' }).getByRole('link', { name: /^\d+$/ }).click();
      await page.waitForURL(/#\/queues\/orders\/jobs\?state=dead$/);
      await until(async () => (await rows.count()) >= 3 && (await rows.count()) <= dead);
    });
  });

  test('the keyboard finds, walks, opens and helps', async () => {
    await enqueue('calm');
    await visit('', async (page) => {
      await page.locator('[data-row]').first().waitFor();
      await page.keyboard.press('j');
      const first = await page.evaluate(FOCUSED);
      await page.keyboard.press('j');
      expect(await page.evaluate(FOCUSED)).not.toBe(first);
      await page.keyboard.press('k');
      expect(await page.evaluate(FOCUSED)).toBe(first);
      await page.keyboard.press('?');
      await dialog(page).getByText('Open the row').waitFor();
      await page.keyboard.press('Escape');
      await dialog(page).waitFor({ state: 'detached' });
      await page.keyboard.press('/');
      await page.keyboard.type('calm');
      await page.keyboard.press('Enter');
      await page.waitForURL(/#\/\?name=calm$/);
      await page.getByLabel('Queues by name').getByRole('link', { name: 'calm' }).waitFor();
      await page.getByRole('search').locator('input').blur();
      await page.keyboard.press('j');
      await page.keyboard.press('Enter');
      await heading(page, /^calm/);
    });
  });
});

describe.skipIf(!hasBrowser)('a queue', () => {
  test('says why a claim gets nothing; is paused, resumed and redriven with a filter; purged when its name is typed', async () => {
    await bury('mail', 'SMTP 421', 2);
    await bury('mail', 'no such user', 3);
    const dead = async () => (await root('GET', '/queues/mail')).body.counts.dead;
    await visit('#/queues/mail', async (page) => {
      await page.getByText('empty.').waitFor();
      await button(page, 'Pause…').click();
      await dialog(page).getByRole('button', { name: 'Pause' }).click();
      await button(page, 'Resume').click();
      await button(page, 'Pause…').waitFor();

      await button(page, 'Redrive…').click();
      await dialog(page)
        .getByLabel(/Only where the error contains/)
        .fill('421');
      await dialog(page).getByRole('button', { name: 'Redrive' }).click();
      await page.getByText('2 jobs are ready again.').waitFor();
      expect(await dead()).toBe(3);
      await page.getByText('A job is ready.').waitFor();

      await button(page, 'Purge…').click();
      await dialog(page).getByRole('checkbox', { name: /^dead/ }).check();
      const purge = dialog(page).getByRole('button', { name: 'Delete 3 jobs' });
      expect(await purge.isDisabled()).toBe(true);
      await dialog(page).getByLabel('Type mail to confirm').fill('mai');
      expect(await purge.isDisabled()).toBe(true);
      expect(await axeFindings(page)).toEqual([]);
      await dialog(page).getByLabel('Type mail to confirm').fill('mail');
      await purge.click();
      await dialog(page).waitFor({ state: 'detached' });
      expect((await root('GET', '/queues/mail')).body.counts).toMatchObject({ dead: 0, ready: 2 });
    });
  });

  test('is configured: each field says what it means, and which one is wrong', async () => {
    await root('PUT', '/queues/tuned', { max_leased: 4, rate_limit: { jobs: 10, per_seconds: 2 } });
    await visit(
      '#/queues/tuned/config',
      async (page) => {
        const attempts = page.getByLabel(/^Max attempts/);
        expect(await page.getByLabel(/^Max leased/).inputValue()).toBe('4');
        expect(await page.getByLabel(/^Rate limit: window/).inputValue()).toBe('2');
        await page.getByText('How long a worker may hold a job').waitFor();
        await attempts.fill('5000');
        await button(page, 'Save').click();
        await page.getByText(/The value must be/).waitFor();
        expect(await attempts.getAttribute('aria-invalid')).toBe('true');
        await attempts.fill('7');
        await page.getByLabel(/^Max leased/).fill('');
        await button(page, 'Save').click();
        await page.getByText('Saved.').waitFor();
        const { config } = (await root('GET', '/queues/tuned')).body;
        expect(config).toMatchObject({ max_attempts: 7, rate_limit: { jobs: 10, per_seconds: 2 } });
        expect(config).not.toHaveProperty('max_leased');
      },
      { expected: /status of 400/ },
    );
  });

  test.each(['.', '..', 'a..b'])('of the name %s can be looked at and paused', async (name) => {
    await enqueue(name);
    await visit(`#/queues/${name}`, async (page) => {
      await page.getByText('A job is ready.').waitFor();
      await button(page, 'Pause…').click();
      await dialog(page).getByRole('button', { name: 'Pause' }).click();
      await button(page, 'Resume').waitFor();
    });
    const { body } = await root('GET', `/queues?name_contains=${name}`);
    expect(body.queues.find((queue: { name: string }) => queue.name === name).paused).toBe(true);
  });

  test('is searched to the end by itself, where one request finds nothing', async () => {
    await enqueue('long');
    const found = (await root('GET', '/jobs?queue=long')).body;
    const answers: Record<string, object> = {
      '': { jobs: [], next_cursor: 'one' },
      one: { jobs: [], next_cursor: 'two' },
      two: found,
    };
    let goOn = () => {};
    const isLookedAt = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    await visit('', async (page) => {
      await page.route(
        (url) => url.pathname === '/jobs',
        async (route) => {
          const cursor = new URL(route.request().url()).searchParams.get('cursor') ?? '';
          if (cursor === 'one') await isLookedAt;
          await route.fulfill({ json: answers[cursor] });
        },
      );
      await page.goto(`${at.base}/#/queues/long/jobs?worker=w-1`);
      await page.getByText('Still searching').waitFor();
      goOn();
      await page.locator('[data-row]').first().waitFor();
      await page.getByText('Page 1').waitFor();
    });
  });

  test('with nothing to do is told as calmly as a completed job: amber is for what somebody should look at', async () => {
    await root('PUT', '/queues/tones', { retention_seconds: 600 });
    const id = await enqueue('tones');
    const [{ lease_token }] = (await root('POST', '/jobs/claim', { queues: ['tones'], lease_seconds: 600 }))
      .body.jobs;
    await root('POST', `/jobs/${id}/ack`, { lease_token });
    const colours = (page: Page) =>
      page.evaluate<string[]>(
        "((box) => [box.className.trim(), getComputedStyle(box).borderLeftColor])(document.querySelector('.why'))",
      );
    await visit('#/queues/tones', async (page) => {
      await page.getByText('empty.').waitFor();
      const [name, calm] = await colours(page);
      expect(name).toBe('why');
      await page.goto(`${at.base}/#/jobs/${id}`);
      await page.getByText('completed.').waitFor();
      expect(await colours(page)).toEqual(['why', calm]);
      await root('POST', '/queues/tones/pause');
      await page.goto(`${at.base}/#/queues/tones`);
      await page.getByText('paused.').waitFor();
      expect((await colours(page))[1]).not.toBe(calm);
    });
  });

  test('that is not there says so, and so does a filter that matches nothing', async () => {
    await enqueue('calm');
    await visit('#/queues/nowhere', async (page) => {
      await page.getByText('Queue not found.').waitFor();
      await page.goto(`${at.base}/#/queues/calm/jobs`);
      await page.locator('[data-row]').first().waitFor();
      await page.getByLabel('Group').fill('nobody');
      await button(page, 'Filter').click();
      await page.waitForURL(/group=nobody/);
      await page.getByText('No jobs match.').waitFor();
    });
  });
});

describe.skipIf(!hasBrowser)('a job', () => {
  test('shows its payload as it was sent, runs nothing of it, and links its trace', async () => {
    const headers = { traceparent: `00-${TRACE}-00f067aa0ba902b7-01` };
    const body = `{"queue":"exact","payload":${ODD},"headers":${JSON.stringify(headers)}}`;
    const { id } = (await root('POST', '/jobs', body)).body;
    await visit(`#/jobs/${id}`, async (page) => {
      expect(await page.getByLabel('Payload, raw').textContent()).toBe(ODD);
      const pretty = await page.getByLabel('Payload, formatted').textContent();
      expect(pretty).toContain(
        '\n  "amount": 12345678901234567890,\n  "rate": 1.0,\n  "dup": 1,\n  "dup": 2,',
      );
      expect(await page.evaluate("'ran' in window")).toBe(false);
      expect(await page.getByRole('link', { name: TRACE }).getAttribute('href')).toBe(
        `https://traces.example/${TRACE}`,
      );
      expect(await axeFindings(page)).toEqual([]);
    });
  });

  test('shows every field that GET /jobs/{id} answers', async () => {
    const sent = { group: 'g-1', fairness_key: 'f-1', unique_key: 'u-1', priority: 7, headers: { h: 'h-1' } };
    await root('POST', '/jobs', { queue: 'whole', payload: 'p-1', max_attempts: 19, ...sent });
    const claim = { queues: ['whole'], worker: 'w-1', lease_seconds: 600 };
    const [{ id, lease_token }] = (await root('POST', '/jobs/claim', claim)).body.jobs;
    await root('POST', `/jobs/${id}/extend`, { lease_token, lease_seconds: 600, progress: 'half-1' });
    const shown = columnNames.filter((name) => columnOf(name).hidden === undefined).map(nameOf);
    // What the page calls otherwise than its field, or shows in a place of its own. Results and errors have other tests.
    const seen: Record<string, string> = {
      id,
      queue: 'whole',
      state: 'leased',
      max_attempts: '1 of 19',
      headers: 'h-1',
      payload: 'p-1',
      progress: 'half-1',
      created_at: 'Enqueued',
      run_at: 'Scheduled for',
      lease_expires_at: 'Lease expires',
      finished_at: 'Finished',
    };
    const elsewhere = ['result', 'last_error'];
    await visit(`#/jobs/${id}`, async (page) => {
      await page.getByText('half-1').first().waitFor();
      const text = ((await page.locator('main').innerText()) ?? '').toLowerCase();
      const missing = shown.filter(
        (name) =>
          !elsewhere.includes(name) &&
          !text.includes((seen[name] ?? name.replaceAll('_', ' ')).toLowerCase()),
      );
      expect(missing).toEqual([]);
      for (const value of ['g-1', 'f-1', 'u-1', 'w-1']) expect(text).toContain(value);
    });
  });

  test('is edited and retried, and keeps each digit; is cancelled; and says that it is gone', async () => {
    const [id = ''] = await bury('fix', 'bad amount', 1);
    await visit(`#/jobs/${id}`, async (page) => {
      await page.getByText('bad amount').first().waitFor();
      await button(page, 'Edit…').click();
      const payload = dialog(page).getByLabel('Payload');
      await payload.fill('{"n":');
      await dialog(page).getByText('Not valid JSON').waitFor();
      expect(await dialog(page).getByRole('button', { name: 'Save and retry' }).isDisabled()).toBe(true);
      await payload.fill(ODD);
      await dialog(page).getByLabel('Priority').fill('9');
      await dialog(page).getByRole('button', { name: 'Save and retry' }).click();
      await page.getByText('ready', { exact: true }).first().waitFor();
      const { text, body } = await root('GET', `/jobs/${id}?payload_format=text`);
      expect(JSON.parse(text).payload_text).toBe(ODD);
      expect(body).toMatchObject({ state: 'ready', priority: 9, attempt: 0 });

      await button(page, 'Cancel…').click();
      await dialog(page).getByRole('button', { name: 'Cancel the job' }).click();
      await page.getByText('This job is gone.').waitFor();
    });
  });

  test('that is done meanwhile is told to be gone, also to who is about to cancel it', async () => {
    const id = await enqueue('brief');
    await visit(`#/jobs/${id}`, async (page) => {
      const live = page.getByLabel('live', { exact: true });
      await button(page, 'Cancel…').waitFor();
      // The page would see on a slow machine that the job is gone, and close the dialog.
      await live.uncheck();
      await button(page, 'Cancel…').click();
      const { body } = await root('POST', '/jobs/claim', { queues: ['brief'], lease_seconds: 600 });
      const [{ lease_token }] = body.jobs;
      await root('POST', `/jobs/${id}/ack`, { lease_token });
      await dialog(page).getByRole('button', { name: 'Cancel the job' }).click();
      await dialog(page).getByRole('alert').getByText('There is no job').waitFor();
      await page.keyboard.press('Escape');
      await live.check();
      await page.getByText('This job is gone.').waitFor();
    });
  });

  test('whose payload has 1 MiB is shown in part, and whole when asked', async () => {
    const payload = `"${'x'.repeat(2 ** 20 - 10)}"`;
    const { id } = (await root('POST', '/jobs', `{"queue":"large","payload":${payload}}`)).body;
    await visit(`#/jobs/${id}`, async (page) => {
      const shown = page.getByLabel('Payload, raw');
      await shown.waitFor();
      expect((await shown.textContent())?.length).toBe(100_000);
      await button(page, 'Show all').first().click();
      await until(async () => (await shown.textContent())?.length === payload.length);
    });
  });
});

describe.skipIf(!hasBrowser)('many jobs at once', () => {
  test('are counted first, worked in the background, and listed; what is not matched stays; a job tells its history', async () => {
    await bury('bulk', 'SMTP 421', 4);
    const [other = ''] = await bury('bulk', 'Error: no such user\n    at send (mail.js:7)\n    at work', 1);
    await visit('#/queues/bulk/jobs?state=dead', async (page) => {
      await until(async () => (await page.locator('[data-row]').count()) === 5);
      await page.getByLabel('Error contains').fill('SMTP');
      await button(page, 'Filter').click();
      await until(async () => (await page.locator('[data-row]').count()) === 4);
      await button(page, 'Change all matching…').click();
      await dialog(page).getByRole('button', { name: 'Count first' }).click();
      await dialog(page).getByText('4 jobs match now.').waitFor();
      const start = dialog(page).getByRole('button', { name: 'retry 4 jobs' });
      expect(await start.isDisabled()).toBe(true);
      await dialog(page).getByLabel('Type 4 to confirm').fill('4');
      await start.click();
      await page.waitForURL(/#\/operations\/./);
      await page.getByRole('status').filter({ hasText: 'done 4 of 4' }).waitFor();
      expect((await root('GET', '/queues/bulk')).body.counts).toMatchObject({ ready: 4, dead: 1 });
      await page.goto(`${at.base}/#/operations`);
      await page.getByRole('link', { name: 'retry', exact: true }).first().waitFor();
      await page.goto(`${at.base}/#/jobs/${other}`);
      const told = page.getByLabel('History').getByText('no such user');
      await told.waitFor();
      // A stack trace keeps its lines.
      expect((await told.innerText()).split('\n').map((line) => line.trim())).toEqual([
        'Error: no such user',
        'at send (mail.js:7)',
        'at work',
      ]);
      expect(await axeFindings(page)).toEqual([]);
    });
  });
});

describe.skipIf(!hasBrowser)('an operation', () => {
  test('is stopped while it runs, and what it has not done stays as it is', async () => {
    await bury('halted', 'boom', 3);
    const gate = gateOperations(at.service);
    gate.before(async () => {
      throw new Error('this portion waits');
    });
    try {
      const act = { verb: 'retry', queue: 'halted', filter: { states: ['dead'] } };
      const { id } = (await root('POST', '/operations', act)).body;
      await visit(`#/operations/${id}`, async (page) => {
        await page.getByRole('status').filter({ hasText: 'running' }).waitFor();
        await button(page, 'Stop').click();
        await dialog(page).getByRole('button', { name: 'Stop the operation' }).click();
        await page.getByRole('status').filter({ hasText: 'cancelled' }).waitFor();
        expect(await button(page, 'Stop').count()).toBe(0);
      });
    } finally {
      gate.open();
    }
    expect((await root('GET', '/queues/halted')).body.counts.dead).toBe(3);
  });
});

describe.skipIf(!hasBrowser)('schedules', () => {
  test('tell their next ticks by the clocks of their zone; are triggered, and paused without a change of their payload', async () => {
    await root(
      'PUT',
      '/schedules/daily',
      `{"cron":"30 6 * * *","timezone":"America/New_York","job":{"queue":"reports","payload":${ODD}}}`,
    );
    await visit('#/schedules', async (page) => {
      await page
        .getByText(/06:30:00 (EST|EDT|GMT-[45])/)
        .first()
        .waitFor();
      await button(page, 'Trigger').click();
      await until(async () => (await root('GET', '/queues/reports')).body.counts?.ready === 1);
      await button(page, 'Pause…').click();
      await dialog(page).getByRole('button', { name: 'Pause' }).click();
      await button(page, 'Resume…').waitFor();
      expect((await root('GET', '/schedules/daily')).text).toContain(ODD);
      await page.getByRole('link', { name: 'daily' }).click();
      await page.waitForURL(/#\/schedules\/daily$/);
      await dialog(page).getByText('12345678901234567890').waitFor();
    });
  });
});

describe.skipIf(!hasBrowser)('a group', () => {
  test('is paused on the page of one of its jobs, and resumed on the page of its queue', async () => {
    const id = await enqueue('sync', { group: 'customer 42' });
    await visit(`#/jobs/${id}`, async (page) => {
      await button(page, 'Pause its group…').click();
      await dialog(page).getByRole('button', { name: 'Pause the group' }).click();
      await page.getByText(/Its group "customer 42" is paused/).waitFor();
      expect((await root('GET', '/queues/sync')).body.paused_groups).toEqual(['customer 42']);
      await page.goto(`${at.base}/#/queues/sync`);
      const groups = page.getByRole('region', { name: 'Paused groups' });
      await groups.getByText('customer 42').waitFor();
      expect(await axeFindings(page)).toEqual([]);
      await groups.getByRole('button', { name: 'Resume the group' }).click();
      await groups.waitFor({ state: 'detached' });
      expect((await root('GET', `/jobs/${id}`)).body.state).toBe('ready');
    });
  });
});

describe.skipIf(!hasBrowser)('a dead letter queue', () => {
  test('is set on the page of a queue, and its jobs are sent back from its own', async () => {
    await root('PUT', '/queues/post', {});
    await visit('#/queues/post/config', async (page) => {
      await page.getByLabel(/^Dead letter queue/).fill('post.dead');
      await button(page, 'Save').click();
      await page.getByText('Saved.').waitFor();
      expect((await root('GET', '/queues/post')).body.config.dead_letter_queue).toBe('post.dead');
      await bury('post', 'boom', 2);
      await page.goto(`${at.base}/#/queues/post.dead`);
      await button(page, 'Redrive…').click();
      await dialog(page).getByRole('checkbox').check();
      await dialog(page).getByRole('button', { name: 'Redrive' }).click();
      await page.getByText('2 jobs are ready again.').waitFor();
      expect((await root('GET', '/queues/post')).body.counts.ready).toBe(2);
    });
  });
});

describe.skipIf(!hasBrowser)('workers', () => {
  test('that have jobs now are shown with their leases, and a name leads to its jobs', async () => {
    await enqueue('busy');
    await enqueue('calm');
    await root('POST', '/jobs/claim', { queues: ['busy'], worker: 'host-1:7', lease_seconds: 600 });
    await visit('', async (page) => {
      await page.getByRole('link', { name: 'Workers' }).click();
      await page.getByRole('link', { name: 'host-1:7' }).click();
      await page.waitForURL(/#\/jobs\?state=leased&worker=host-1%3A7$/);
      await page.locator('[data-row]', { hasText: 'busy' }).waitFor();
      await page.goto(`${at.base}/#/queues/busy/workers`);
      await page.getByRole('link', { name: 'host-1:7' }).waitFor();
      await page.goto(`${at.base}/#/queues/calm/workers`);
      await page.getByText('No worker has a job now.').waitFor();
    });
  });
});

describe.skipIf(!hasBrowser)('what a key may not do', () => {
  test('is left out for a key that may only read, and said', async () => {
    await enqueue('mail.a');
    await visit(
      '#/queues/mail.a',
      async (page) => {
        await page.getByText('Read-only').waitFor();
        expect(await button(page, /Pause|Purge|Redrive/).count()).toBe(0);
        expect(await page.getByRole('link', { name: 'Keys' }).count()).toBe(0);
        await page.getByRole('link', { name: 'Configuration' }).click();
        await page.getByText('to change it, a key needs the scope admin').waitFor();
        expect(await page.getByLabel(/^Max attempts/).isDisabled()).toBe(true);
      },
      { key: 'read@*' },
    );
  });

  test('with a pattern, other queues are not there', async () => {
    await enqueue('mail.a');
    await enqueue('secret');
    await visit(
      '#/?all=1',
      async (page) => {
        await page.getByRole('link', { name: 'mail.a' }).waitFor();
        expect(await page.getByText('secret').count()).toBe(0);
        await page.goto(`${at.base}/#/queues/secret`);
        await page.getByText('may not use the queue').waitFor();
        await page.goto(`${at.base}/#/queues/mail.a`);
        await button(page, 'Pause…').waitFor();
        await page.goto(`${at.base}/#/keys`);
        await page.getByText('To manage keys, a key needs the scope admin for all queues').waitFor();
      },
      { key: 'admin@mail.*', expected: /status of 403/ },
    );
  });

  test('a key without the scope read is told what it lacks', async () => {
    await visit('', async (page) => void (await page.getByText('does not have the scope "read"').waitFor()), {
      key: 'produce@*',
      expected: /status of 403/,
    });
  });
});

describe.skipIf(!hasBrowser)('the page', () => {
  /** All screens, with what makes them wide or long. */
  async function allPlaces(): Promise<string[]> {
    const [dead = ''] = await bury('orders', 'boom', 1);
    const places = [
      '#/',
      '#/?all=1',
      '#/queues/orders',
      '#/queues/orders/jobs',
      '#/queues/orders/errors',
      '#/queues/orders/workers',
      '#/queues/orders/config',
      '#/nowhere',
    ];
    const long = 'x'.repeat(128);
    await enqueue(long);
    await root('PUT', `/schedules/${long}`, { cron: '0 3 * * *', job: { queue: long } });
    const retry = { verb: 'retry', queue: long, filter: { states: ['dead'] } };
    places.push(`#/operations/${(await root('POST', '/operations', retry)).body.id}`);
    places.push(`#/queues/${long}`, `#/schedules/${long}`);
    places.push(`#/jobs/${dead}`, '#/jobs', '#/workers', '#/schedules', '#/operations', '#/keys', '#/audit');
    const batch = { queue: 'orders', name: 'x'.repeat(256), jobs: [{ queue: 'orders' }] };
    places.push('#/batches', `#/batches/${(await root('POST', '/batches', batch)).body.id}`);
    return places;
  }

  /** Shows one screen after the other. */
  const visitAll = async (
    { width, isDark }: { width: number; isDark: boolean },
    look: (page: Page, place: string) => Promise<void>,
  ) => {
    const places = await allPlaces();
    await visit(
      '',
      async (page) => {
        for (const place of places) {
          await page.goto(`${at.base}/${place}`);
          await page
            .locator('main table, main .empty, main form:visible, main .counts, main .bigprogress')
            .first()
            .waitFor();
          await look(page, place);
        }
      },
      { width, isDark, expected: /status of 40[49]/ },
    );
  };

  async function expectToFit(page: Page, place: string, width: number): Promise<void> {
    const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    expect([place, width, Math.max(over, 0)]).toEqual([place, width, 0]);
  }

  test.each([
    [1280, false],
    [800, true],
  ])('at %i pixels, dark %s: no screen is too wide, and axe finds nothing', (width, isDark) =>
    visitAll({ width, isDark }, async (page, place) => {
      // The colours differ between light and dark, the rest does not.
      expect([place, await axeFindings(page)]).toEqual([place, []]);
      await expectToFit(page, place, width);
    }),
  );

  const NARROW = [320, 360, 390];
  test(`at ${NARROW.join(', ')} pixels: no screen is too wide`, () =>
    visitAll({ width: 320, isDark: false }, async (page, place) => {
      for (const width of NARROW) {
        await page.setViewportSize({ width, height: 900 });
        // By then the charts have heard of it.
        await page.evaluate(
          'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))',
        );
        expect(await page.evaluate('innerWidth')).toBe(width);
        await expectToFit(page, place, width);
      }
    }));

  test('runs no script that is written into it', async () => {
    await visit(
      '',
      async (page) => {
        await heading(page, 'Queues');
        const refused = await page.evaluate(ADD_SCRIPT);
        expect(refused).toMatch(/^script-src/);
        expect(await page.evaluate("'ran' in window")).toBe(false);
      },
      { expected: /Content Security Policy|status of 404/ },
    );
  });
});

describe.skipIf(!hasBrowser)('GET /docs', () => {
  test('says Dibs, works with a key, and the first click claims, enqueues and lists: nothing is prefilled that waits, repeats or filters', async () => {
    await visit(
      'docs',
      async (page) => {
        await page.getByRole('heading', { name: /^Dibs/ }).first().waitFor();
        expect(await page.title()).toBe('Dibs API');
        await page.getByRole('button', { name: 'Authorize' }).first().click();
        await page.getByLabel('auth-bearer-value').fill(EVERYTHING);
        await page.getByRole('button', { name: 'Apply credentials' }).click();
        await page.getByRole('button', { name: 'Close' }).first().click();
        const execute = async (id: string, status: string, empty: string[] = []) => {
          const operation = page.locator(`#operations-${id}`);
          await operation.locator('.opblock-summary').click();
          await operation.getByRole('button', { name: 'Try it out' }).click();
          for (const name of empty)
            expect(
              await operation.locator(`tr[data-param-name="${name}"]`).locator('input, select').inputValue(),
            ).toBe('');
          await operation.getByRole('button', { name: 'Execute' }).click();
          await operation.locator('.live-responses-table .response-col_status').getByText(status).waitFor();
          // A page of open operations is slow.
          await operation.locator('.opblock-summary').click();
        };
        await execute('Consuming-claimJobs', '200');
        await execute('Producing-enqueueJob', '201', ['Idempotency-Key', 'Prefer']);
        await execute('Jobs-listJobs', '200', [
          'queue',
          'state',
          'group',
          'worker',
          'error_contains',
          'cursor',
        ]);
      },
      { expected: SWAGGER },
    );
  });
});

describe.skipIf(!hasBrowser)('very many', () => {
  test('10,000 queues: a page has fifty, and each is found by a part of its name', async () => {
    await at.service.db.query(MANY, {});
    await visit('#/?all=1', async (page) => {
      const table = page.getByLabel('Queues by name');
      await table.waitFor();
      expect(await table.locator('[data-row]').count()).toBe(50);
      const first = await table.locator('[data-row] a').first().textContent();
      await button(page, 'Next').click();
      await page.getByText('Page 2').waitFor();
      await until(async () => (await table.locator('[data-row] a').first().textContent()) !== first);
      await page.getByLabel("Part of a queue's name").fill('y.0999');
      await page.keyboard.press('Enter');
      await page.getByRole('link', { name: 'many.09999' }).waitFor();
      expect(await table.locator('[data-row]').count()).toBe(10);
      await page.getByLabel("Part of a queue's name").fill('no such');
      await page.keyboard.press('Enter');
      await page.getByText('No queue name contains this.').waitFor();
    });
  });
});
