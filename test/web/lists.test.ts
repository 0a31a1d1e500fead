import { describe, expect, test } from 'vitest';
import { hasBrowser } from '../support/browser.ts';
import { useDashboard } from '../support/dashboard.ts';

const { root, bury, visit } = useDashboard();

describe.skipIf(!hasBrowser)('a list of jobs', () => {
  test.each([1280, 390])(
    'shows the payload and the last error of each job on the screen, %i pixels wide',
    async (width) => {
      const queue = `listed-${width}`;
      await bury(queue, 'SMTP 421: no such mailbox\n    at send (mail.js:7)', 1);
      await root('POST', '/jobs', `{"queue":"${queue}","payload":{"n": 1.0, "long": "${'x'.repeat(5000)}"}}`);
      await visit(
        `#/queues/${queue}/jobs`,
        async (page) => {
          for (const [row, text] of [
            ['dead', 'SMTP 421: no such mailbox'],
            ['ready', '{"n": 1.0, "long": "xxx'],
          ] as const) {
            const cell = page.locator('[data-row]', { hasText: row }).getByText(text);
            await cell.waitFor();
            const box = await cell.boundingBox();
            expect((box?.x ?? width) + (box?.width ?? 0)).toBeLessThanOrEqual(width);
            expect((await cell.textContent())?.length).toBeLessThan(200);
          }
          expect(await page.getByText('mail.js:7').count()).toBe(0);
        },
        { width },
      );
    },
  );
});
