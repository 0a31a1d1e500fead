import { afterAll, beforeAll, expect, test } from 'vitest';
import { playPage } from '../support/pageSessions.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

test('the session in docs/sessions.md prints what the page shows, when it is typed as it stands there', async () => {
  const steps = await playPage('docs/sessions.md', await service.listen());
  expect(steps.filter(({ printed }) => printed !== '').length).toBeGreaterThan(3);
  for (const { typed, printed, came } of steps) expect(came, typed).toBe(printed);
});
