import { Type } from 'typebox';
import { oneOf } from './common.ts';

export const Health = Type.Object(
  { status: oneOf(['ok']) },
  { $id: 'Health', description: 'All is well.', examples: [{ status: 'ok' }] },
);
