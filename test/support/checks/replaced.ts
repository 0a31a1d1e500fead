import { groupBy } from '../../../src/claim/groupBy.ts';
import { TOLERANCE_MS } from '../history.ts';
import type { Intent, Life } from '../life.ts';

/**
 * A job that was replaced comes with what was sent last. One that is leased is left alone. The tag of a lease tells which intent
 * its payload is of.
 */
export function replaceViolations(lives: Life[], intents: Intent[]): string[] {
  const byTag = new Map(intents.map((intent) => [intent.spec.payload.tag, intent]));
  const replacing = groupBy(
    intents.filter(({ replaced }) => replaced),
    ({ named }) => named,
  );
  return lives.flatMap(({ id, leases }) =>
    (replacing.get(id) ?? []).flatMap(({ spec: { payload }, sent, answered }) =>
      leases.flatMap((lease) => {
        const wrong = (what: string) => [`job ${id}, replaced by tag ${payload.tag}, ${what}`];
        if (lease.taken < sent && answered < lease.until - TOLERANCE_MS) return wrong('was leased then');
        const older = byTag.get(lease.tag ?? Number.NaN);
        const isOld = older !== undefined && older.answered < sent;
        return isOld && answered < lease.start - TOLERANCE_MS
          ? wrong(`came with tag ${lease.tag} later`)
          : [];
      }),
    ),
  );
}
