import type { ClaimVerb } from './notifier.ts';

/** The other replicas hear of a claim that is open for this long, or up to twice this. Most are answered before. */
const KNOWN_MS = 50;
/** A notification holds 8000 bytes, and a mark takes 23. */
const MARKS = 300;
/** How long to wait for another replica to end a claim. After that, it counts as gone. */
const ANSWER_MS = 1000;
/** No claim waits longer. A claim that this replica heard of before is over. */
const OLDEST_MS = 65_000;
const MOST_KNOWN = 200_000;

interface Elsewhere {
  replica: string;
  at: number;
}

/**
 * Ends a claim that waits on another replica when it is repeated here. The notifications:
 *
 *   open <sender> <mark>,<mark>,...   These claims wait with the sender. So only a repeat of one of them costs notifications.
 *   take <sender> <replica>,<mark>    The claim was repeated with the sender. A replica that has it open ends it, and the
 *                                     named replica says `over`.
 *   over <sender> <mark>              The claim is answered, and the leases that it got can be found.
 *
 * When notifications are lost, at most a lease runs out unused.
 */
export function createClaimHandover(context: {
  /** The name of this replica in notifications. */
  self: string;
  tell(verb: ClaimVerb, text: string): void;
  /** Answers the claim with nothing, if it is open here. Settles when the claim is answered. */
  replace(mark: string): Promise<void>;
}) {
  const { self, tell, replace } = context;
  const elsewhere = new Map<string, Elsewhere>();
  /** What to call when a claim is over. */
  const endings = new Map<string, () => void>();
  let young = new Set<string>();
  let grown = new Set<string>();
  let announcing = false;

  function announceSoon(): void {
    if (!announcing) setTimeout(announce, KNOWN_MS).unref();
    announcing = true;
  }

  function announce(): void {
    const marks = [...grown];
    for (let i = 0; i < marks.length; i += MARKS) tell('open', marks.slice(i, i + MARKS).join());
    grown = young;
    young = new Set();
    announcing = false;
    if (grown.size > 0) announceSoon();
  }

  function remember(mark: string, replica: string): void {
    // The youngest is the last in the map.
    elsewhere.delete(mark);
    elsewhere.set(mark, { replica, at: performance.now() });
    if (elsewhere.size <= MOST_KNOWN) return;
    const [oldest] = elsewhere.keys();
    elsewhere.delete(oldest as string);
  }

  function dropReplica(replica: string): void {
    for (const [mark, known] of elsewhere) if (known.replica === replica) elsewhere.delete(mark);
  }

  return {
    opened(mark: string): void {
      young.add(mark);
      announceSoon();
    },

    closed(mark: string): void {
      young.delete(mark);
      grown.delete(mark);
    },

    /** Ends this claim where it waits, if another replica said that it waits there. */
    async endElsewhere(mark: string): Promise<void> {
      const known = elsewhere.get(mark);
      elsewhere.delete(mark);
      if (!known || performance.now() - known.at > OLDEST_MS) return;
      await new Promise<void>((resolve) => {
        const late = setTimeout(() => {
          dropReplica(known.replica);
          resolve();
        }, ANSWER_MS);
        endings.set(mark, () => {
          clearTimeout(late);
          resolve();
        });
        tell('take', `${known.replica},${mark}`);
      });
      endings.delete(mark);
    },

    /** Another replica said something about claims. */
    heard(verb: string, sender: string, text: string): void {
      if (verb === 'open') for (const mark of text.split(',')) remember(mark, sender);
      else if (verb === 'over') endings.get(text)?.();
      else if (verb === 'take') {
        const [replica, mark = ''] = text.split(',');
        void replace(mark).then(() => replica === self && tell('over', mark));
      }
    },
  };
}
