import { type Static, type TObject, type TProperties, Type } from 'typebox';
import type { Caller } from '../../clients/typescript/src/caller.ts';
import { QUEUE_NAME } from '../../src/verbs/queues.ts';

/** Something that an assistant may ask for. */
export interface Tool {
  name: string;
  title: string;
  description: string;
  input: TObject;
  /** Undefined for a look, which changes nothing. */
  act?: 'mild' | 'destructive';
  run(client: Caller, input: object): Promise<object>;
}

/** A tool whose input has the type of its schema. */
export const tool = <P extends TProperties>(
  given: Omit<Tool, 'input' | 'run'> & {
    input: P;
    run(client: Caller, input: Static<TObject<P>>): Promise<object>;
  },
): Tool => ({ ...given, input: Type.Object(given.input, { additionalProperties: false }) }) as Tool;

export const queueName = (description: string) =>
  Type.String({
    pattern: QUEUE_NAME,
    description: `${description} 1 to 128 of A-Z a-z 0-9 . _ : -`,
  });

export const id = (description: string) => Type.String({ minLength: 1, maxLength: 128, description });

export const oneOf = <const T extends string>(values: readonly T[], description: string) =>
  Type.Unsafe<T>({ type: 'string', enum: values, description });

export const time = (description: string) =>
  Type.String({ description: `${description} An RFC 3339 time with an offset, like 2026-11-21T09:30:00Z.` });

export const text = (description: string) => Type.String({ minLength: 1, maxLength: 256, description });

/** The input of every list. */
export const page = {
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, description: 'How many at most, 1 to 100. Default: 20.' }),
  ),
  cursor: Type.Optional(Type.String({ description: 'The next_cursor of the page before.' })),
};
export const LIMIT = 20;
