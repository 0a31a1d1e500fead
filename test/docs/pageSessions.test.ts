import { expect, onTestFinished, test } from 'vitest';
import { playPage } from '../support/pageSessions.ts';
import { startService } from '../support/service.ts';

/** Each page prints something in more steps than so many. */
test.each([
  ['docs/batches.md', 10],
  ['docs/sessions.md', 3],
])('the session in %s prints what the page shows, when it is typed as it stands there', async (page, few) => {
  const service = await startService();
  onTestFinished(() => service.stop());
  const steps = await playPage(page, await service.listen());
  expect(steps.filter(({ printed }) => printed !== '').length).toBeGreaterThan(few);
  for (const { typed, printed, came } of steps) expect(came, typed).toBe(printed);
});
