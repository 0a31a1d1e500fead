import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { table } from '../../commands/remote/table.ts';
import { paintFor } from '../../commands/remote/terminal.ts';

test('the headings of a table stand above their columns, with colours and without', () => {
  for (const isTTY of [true, false]) {
    const stdout = { isTTY, write: () => true };
    const paint = paintFor({ stdin: process.stdin, stdout, stderr: stdout, env: {} });
    const { text } = table(['QUEUE', 'STATE'], [['mail.of.long.ago', 'ready']], stdout, paint);
    const [headings = '', row = ''] = stripVTControlCharacters(text).split('\n');
    expect(headings).toBe('QUEUE             STATE');
    expect(row).toBe('mail.of.long.ago  ready');
  }
});
