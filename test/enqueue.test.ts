import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Service, startService } from './support/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

describe('POST /jobs', () => {
  test('a job is answered with 201, its state and its place', async () => {
    const answer = await service.call('POST', '/jobs', {
      queue: 'mail',
      payload: { to: 'ada' },
      priority: 5,
    });
    expect(answer.status).toBe(201);
    expect(answer.headers.location).toBe(`/jobs/${answer.body.id}`);
    expect(answer.body).toMatchObject({
      queue: 'mail',
      state: 'ready',
      priority: 5,
      attempt: 0,
      max_attempts: 5,
    });
    expect(answer.body).not.toHaveProperty('payload');
    const found = await service.call('GET', answer.headers.location as string);
    expect(found.body).toMatchObject({ ...answer.body, payload: { to: 'ada' } });
  });
});
