import { type Grant, isQueuePattern, SCOPES, type Scope } from '../caller.ts';

/** What a token gets for the claims that it does not have. The first entry whose `subject` matches counts. */
export interface SubjectGrant extends Grant {
  /** A subject (`sub`), or the beginning of subjects with `*` after it. */
  subject: string;
}

const isStrings = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

const isScope = (text: string): text is Scope => (SCOPES as readonly string[]).includes(text);

const NOTHING: Grant = { scopes: [], queues: [] };
const FIELDS = ['subject', 'scopes', 'queues'];

function checked(entry: unknown, at: number): SubjectGrant {
  const problem = (text: string) => new Error(`entry ${at}: ${text}`);
  if (typeof entry !== 'object' || entry === null) throw problem('must be an object');
  const { subject, scopes, queues } = entry as Record<string, unknown>;
  const odd = Object.keys(entry).find((name) => !FIELDS.includes(name));
  if (odd !== undefined) throw problem(`${JSON.stringify(odd)} is not a known field`);
  if (typeof subject !== 'string' || !/^[^*]*\*?$/.test(subject) || subject === '')
    throw problem('"subject" must be a subject, or the beginning of one with "*" after it');
  if (!isStrings(scopes) || !scopes.every(isScope))
    throw problem(`"scopes" must be a list of ${SCOPES.join(', ')}`);
  if (!isStrings(queues) || !queues.every(isQueuePattern))
    throw problem('"queues" must be a list of patterns like "mail" or "mail.*"');
  return { subject, scopes, queues };
}

/** Reads a file of grants. @throws Error that says what is wrong with it */
export function parseGrants(text: string): SubjectGrant[] {
  const entries: unknown = JSON.parse(text);
  if (!Array.isArray(entries)) throw new Error('must be a list');
  return entries.map(checked);
}

function matches({ subject }: SubjectGrant, of: string): boolean {
  return subject.endsWith('*') ? of.startsWith(subject.slice(0, -1)) : subject === of;
}

const wordsOf = (text: string) => text.split(/\s+/).filter((word) => word !== '');

/** The scopes of the claim `scope`. Undefined when it names none of Dibs. @throws Error when it is malformed */
function scopesIn(claim: unknown): Scope[] | undefined {
  if (claim === undefined) return undefined;
  if (typeof claim !== 'string') throw new Error('"scope" must be a string');
  const ours = wordsOf(claim).filter((word) => word.startsWith('dibs:'));
  if (ours.length === 0) return undefined;
  return ours.map((word) => word.slice('dibs:'.length)).filter(isScope);
}

/** The patterns of the claim `dibs_queues`. @throws Error when it is malformed */
function queuesIn(claim: unknown): string[] | undefined {
  if (claim === undefined) return undefined;
  const patterns = typeof claim === 'string' ? wordsOf(claim) : claim;
  if (!isStrings(patterns) || !patterns.every(isQueuePattern))
    throw new Error('"dibs_queues" must be queue patterns, in a list or with spaces in between');
  return patterns;
}

/**
 * What a token allows. A claim counts where the token has it: whoever holds the signing key says what a token may do.
 * What the token does not say comes from the grants. Where they say nothing either, the token allows nothing.
 * @throws Error when a claim is malformed
 */
export function grantOf(
  claims: { sub?: string; scope?: unknown; dibs_queues?: unknown },
  grants: SubjectGrant[],
): Grant {
  const given = grants.find((grant) => matches(grant, claims.sub as string)) ?? NOTHING;
  return {
    scopes: scopesIn(claims.scope) ?? given.scopes,
    queues: queuesIn(claims.dibs_queues) ?? given.queues,
  };
}
