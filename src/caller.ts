/** What a caller may do. `admin` includes the other scopes. */
export const SCOPES = ['produce', 'consume', 'read', 'admin'] as const;
export type Scope = (typeof SCOPES)[number];

/**
 * What a key or token allows. A queue pattern is a name (`mail`), the beginning of names (`mail.*`), or `*` for all.
 */
export interface Grant {
  scopes: readonly Scope[];
  queues: readonly string[];
}

/** Who sends a request. */
export interface Caller {
  /** Keeps the idempotency keys and `claim_id`s of callers apart. Undefined: nobody needs a key. */
  readonly id: string | undefined;
  /** For the audit. */
  readonly name: string;
  /** May use every queue. */
  readonly everywhere: boolean;
  /** What its key or token allows, as it was given. */
  readonly grant: Grant;
  /** The queues that lists may show, as patterns of LIKE. Undefined: all. */
  readonly visible: string[] | undefined;
  may(scope: Scope): boolean;
  mayUse(queue: string): boolean;
  /**
   * `ended` is called when the caller may do nothing any more. Returns how to forget it. Undefined: that never happens.
   */
  readonly onEnd: OnEnd | undefined;
}

export type OnEnd = (ended: () => void) => () => void;

/** A queue pattern, for JSON Schema, too. */
export const QUEUE_PATTERN = /^([A-Za-z0-9._:-]{1,128}|[A-Za-z0-9._:-]{0,127}\*)$/;

export const isQueuePattern = (text: string): boolean => QUEUE_PATTERN.test(text);

const toLike = (pattern: string) => pattern.replaceAll(/[\\%_]/g, '\\$&').replace(/\*$/, '%');

export function createCaller(
  { id, name, onEnd }: { id: string | undefined; name: string; onEnd?: OnEnd },
  grant: Grant,
): Caller {
  const scopes = new Set(grant.scopes);
  const names = new Set(grant.queues.filter((pattern) => !pattern.endsWith('*')));
  const beginnings = grant.queues.filter((p) => p.endsWith('*')).map((p) => p.slice(0, -1));
  const everywhere = beginnings.includes('');
  return {
    id,
    name,
    everywhere,
    grant: { scopes: grant.scopes, queues: grant.queues },
    visible: everywhere ? undefined : grant.queues.map(toLike),
    may: (scope) => scopes.has(scope) || scopes.has('admin'),
    onEnd,
    mayUse: (queue) => everywhere || names.has(queue) || beginnings.some((start) => queue.startsWith(start)),
  };
}

/** Whoever reaches a Dibs that needs no key. */
export const ANYBODY = createCaller({ id: undefined, name: 'anybody' }, { scopes: SCOPES, queues: ['*'] });
