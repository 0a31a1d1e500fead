interface Lifetime {
  id: string;
  /** When it was seen for the first time. */
  from: number;
  /** When its ack was sent. It was not finished before. */
  to: number;
}

/** Records when jobs with one key were certainly unfinished, and finds two that were at once. */
export function recordLifetimes() {
  const jobs = new Map<string, Lifetime>();

  function of(id: string): Lifetime {
    const known = jobs.get(id) ?? { id, from: Number.POSITIVE_INFINITY, to: Number.POSITIVE_INFINITY };
    jobs.set(id, known);
    return known;
  }

  return {
    /** An enqueue or a claim has answered this job. */
    seen(id: string): void {
      of(id).from = Math.min(of(id).from, performance.now());
    },

    /** An ack is about to be sent. */
    finishing(id: string): void {
      of(id).to = performance.now();
    },

    count: () => jobs.size,

    /** Each pair of jobs that were unfinished at once, in words. */
    overlaps(): string[] {
      const inOrder = [...jobs.values()].sort((a, b) => a.from - b.from);
      return inOrder.flatMap((job, i) =>
        inOrder
          .slice(i + 1)
          .filter((later) => later.from < job.to)
          .map((later) => `job ${later.id} existed while job ${job.id} was not finished`),
      );
    },
  };
}
