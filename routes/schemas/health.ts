import { oneOf } from './common.ts';
import { Type } from './type.ts';

export const Health = Type.Object(
  { status: oneOf(['ok']) },
  { $id: 'Health', description: 'All is well.', examples: [{ status: 'ok' }] },
);
