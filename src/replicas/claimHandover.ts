import type { ClaimVerb } from './notifier.ts';

/** A claim that is open for so long, up to twice that, is made known to the other replicas; most are answered before. */
const KNOWN_MS = 50;
/** A message holds 8000 bytes, and a mark takes 23. */
const MARKS = 300;
/** How long a replica is waited for to end a claim; after that it counts as gone. */
const PATIENCE_MS = 1000;
/** No claim waits longer; what was heard of before is over. */
const OLDEST_MS = 65_000;
const MOST_KNOWN = 200_000;

interface Elsewhere {
  replica: string;
  at: number;
}

/**
 * Ends a claim that waits on another replica when it is repeated here. Each replica says which claims wait with it (`open <sender>
 * <mark>,<mark>...`), so that only the repetition of one that does costs messages: `take <sender> <replica>,<mark>`, answered
 * `over <sender> <mark>` when the claim is answered and all that it leased can be found. Lost messages cost at most a
 * lease that runs out unused.
 */
export function createClaimHandover(context: {
  /** This replica, as the others know it. */
  self: string;
  tell(verb: ClaimVerb, text: string): void;
  /** Has the claim answered with nothing, if it is open here; settles when it was. */
  replace(mark: string): Promise<void>;
}) {
  const { self, tell, replace } = context;
  const elsewhere = new Map<string, Elsewhere>();
  const awaited = new Map<string, () => void>();
  let young = new Set<string>();
  let grown = new Set<string>();
  let ticking = false;

  function tickSoon(): void {
    if (!ticking) setTimeout(tick, KNOWN_MS).unref();
    ticking = true;
  }

  function tick(): void {
    const marks = [...grown];
    for (let i = 0; i < marks.length; i += MARKS) tell('open', marks.slice(i, i + MARKS).join());
    grown = young;
    young = new Set();
    ticking = false;
    if (grown.size > 0) tickSoon();
  }

  function remember(mark: string, replica: string): void {
    // Last in the map, as the youngest.
    elsewhere.delete(mark);
    elsewhere.set(mark, { replica, at: performance.now() });
    if (elsewhere.size <= MOST_KNOWN) return;
    const [oldest] = elsewhere.keys();
    elsewhere.delete(oldest as string);
  }

  function forgetReplica(replica: string): void {
    for (const [mark, known] of elsewhere) if (known.replica === replica) elsewhere.delete(mark);
  }

  return {
    opened(mark: string): void {
      young.add(mark);
      tickSoon();
    },

    closed(mark: string): void {
      young.delete(mark);
      grown.delete(mark);
    },

    /** Ends this claim where it waits, if another replica said that it does. */
    async endElsewhere(mark: string): Promise<void> {
      const known = elsewhere.get(mark);
      elsewhere.delete(mark);
      if (!known || performance.now() - known.at > OLDEST_MS) return;
      await new Promise<void>((resolve) => {
        const late = setTimeout(() => {
          forgetReplica(known.replica);
          resolve();
        }, PATIENCE_MS);
        awaited.set(mark, () => {
          clearTimeout(late);
          resolve();
        });
        tell('take', `${known.replica},${mark}`);
      });
      awaited.delete(mark);
    },

    /** What another replica said. */
    heard(verb: string, sender: string, text: string): void {
      if (verb === 'open') for (const mark of text.split(',')) remember(mark, sender);
      else if (verb === 'over') awaited.get(text)?.();
      else if (verb === 'take') {
        const [replica, mark = ''] = text.split(',');
        void replace(mark).then(() => replica === self && tell('over', mark));
      }
    },
  };
}
