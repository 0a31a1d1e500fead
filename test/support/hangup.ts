import type { RunningEngine } from '../../src/engine.ts';
import type { ClaimRequest } from '../../src/verbs/claims.ts';

/** A claim whose consumer hangs up when the test says so. */
export function claimToHangUp(engine: RunningEngine, request: Omit<ClaimRequest, 'onHangup'>) {
  let gone: (() => void) | undefined;
  const jobs = engine.claim({
    ...request,
    onHangup: (tell) => {
      gone = tell;
    },
  });
  return { jobs, hangUp: () => gone?.() };
}
