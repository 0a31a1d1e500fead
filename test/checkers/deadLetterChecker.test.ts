import { expect, test } from 'vitest';
import { deadLetterViolations, movedLives } from '../support/checks/deadLetters.ts';
import { fateViolations } from '../support/checks/fates.ts';
import type { Life, Sweeps } from '../support/life.ts';
import { ended, job, leased, nothing } from '../support/lives.ts';

const deadLettersOf = (queue: string) => (queue === 'q' ? 'q.dead' : undefined);
const check = (lives: Life[], sweeps: Sweeps = nothing) => deadLetterViolations(lives, sweeps, deadLettersOf);
const sentHome: Sweeps = { ...nothing, homes: [{ queue: 'q.dead', answered: 50_000 }] };

/** All of these have one payload. A job that died at 300, and its dead letter. */
const payload = { tag: -1 };
const died = () => leased(job('a', 0, { payload }), 100, 300, { verb: 'nack' });
const letter = (id = 'b', sent = 300) => job(id, sent, { payload, queue: 'q.dead' });
const acked = (life: Life, start: number) => leased(life, start, start + 100, {});

test('a dead letter of a job that died is no violation, nor a job that is no dead letter', () => {
  expect(check([died(), acked(letter(), 400)])).toEqual([]);
  expect(check([died()])).toEqual([]);
  expect(check([letter()])).toEqual([]);
});

test('a job that became two dead letters is found, unless dead letters were sent home', () => {
  const twice = [died(), acked(letter(), 400), acked(letter('c', 600), 700)];
  expect(check(twice)).toEqual([expect.stringContaining('dead letter b and c: one job became both')]);
  expect(check(twice, sentHome)).toEqual([]);
});

test('a dead letter of a job that was acked, leased afterwards, or had not died is found', () => {
  const done = acked(job('a', 0, { payload }), 100);
  expect(check([done, letter()])).toEqual([expect.stringContaining('job a was acknowledged')]);
  const late = leased(died(), 320, 380, { verb: 'nack' });
  expect(check([late, letter()])).toEqual([expect.stringContaining('job a was leased afterwards')]);
  const alive = { ...died(), ...ended('cancelled') };
  expect(check([alive, letter()])).toEqual([expect.stringContaining('job a had not died')]);
  alive.intent.spec.max_attempts = 1;
  expect(check([alive, letter()])).toEqual([]);
});

test('a job and its dead letter that run at once are found, also where dead letters are sent home', () => {
  const both = [leased(job('a', 0, { payload }), 100, 450), acked(letter(), 400)];
  expect(check(both, sentHome)).toEqual([expect.stringContaining('was leased while job a was')]);
});

test('a job that died may be gone when its dead letter was seen, here or at home', () => {
  const fates = (...lives: Life[]) => {
    const moved = movedLives(lives, deadLettersOf);
    return fateViolations(
      lives,
      () => false,
      nothing,
      (life) => moved.has(life),
    );
  };
  /** The same row as the dead letter that was created then. */
  const home = (created: number) => acked(job('c', 0, { payload }, { created }), 700);
  expect(fates(died(), acked(letter(), 400))).toEqual([]);
  expect(fates({ ...died(), ...ended('cancelled') }, acked(letter(), 400))).toEqual([]);
  expect(fates(died())).toEqual([expect.stringContaining('job a of q is lost')]);
  expect(fates(died(), home(305))).toEqual([]);
  expect(fates(died(), letter())).toEqual([expect.stringContaining('job b of q.dead is lost')]);
  expect(fates(died(), letter(), home(305))).toEqual([]);
  expect(fates(died(), letter(), home(200))).toEqual([expect.stringContaining('job b of q.dead is lost')]);
});

test('a dead letter that was sent home and died there unseen may be gone when the next dead letter was seen', () => {
  const moved = (...lives: Life[]) => [...movedLives(lives, deadLettersOf)].map(({ id }) => id);
  const next = acked(letter('d', 600), 700);
  expect(moved(died(), letter(), next)).toEqual(['a', 'b']);
});
