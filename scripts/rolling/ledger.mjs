/** A row for each part of the run. */
export function tableOf(parts) {
  const rows = parts.map(({ what, seconds, before, after }) =>
    [
      what,
      `${seconds.toFixed(0)} s`,
      after.requests - before.requests,
      after.answered - before.answered,
      after.retried - before.retried,
      after.failed - before.failed,
    ].join(' | '),
  );
  return [
    '| part | took | requests | enqueues answered | retried once | failed |',
    '|---|---|---|---|---|---|',
    ...rows.map((row) => `| ${row} |`),
  ].join('\n');
}

/** Each answered enqueue was delivered and acked exactly once, or is named. */
export function summaryOf({ jobs, unanswered, counts, why }) {
  const all = [...jobs];
  const lost = all.filter(([, job]) => job.answered && job.delivered.length === 0);
  const twice = all.filter(([, job]) => job.delivered.length > 1);
  const unacked = all.filter(([, job]) => job.delivered.length > 0 && job.acked.length === 0);
  const ackedTwice = all.filter(([, job]) => job.acked.length > 1);
  const stray = all.filter(([n, job]) => !job.answered && !unanswered.has(n));
  const answered = all.filter(([, job]) => job.answered).length;
  const lines = [
    `${answered} enqueues answered: ${answered - lost.length} delivered, ${all.filter(([, job]) => job.answered && job.acked.length === 1).length} acked exactly once`,
    `lost: ${lost.length}, delivered twice: ${twice.length}, delivered and not acked: ${unacked.length}, acked twice: ${ackedTwice.length}, never sent: ${stray.length}`,
    `requests: ${counts.requests}, retried once: ${counts.retried}, failed: ${counts.failed}`,
    ...[...why].map(([reason, times]) => `first attempts that failed: ${times} x ${reason}`),
  ];
  const isGood =
    [lost, twice, unacked, ackedTwice, stray].every((bad) => bad.length === 0) && counts.failed === 0;
  return { lines, isGood };
}
