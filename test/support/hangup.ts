import type { HeldClaimRequest } from '../../src/claim/claims.ts';
import type { Engine } from '../../src/engine.ts';

/** A claim whose consumer hangs up when the test says so. */
export function claimToHangUp(engine: Engine, request: Omit<HeldClaimRequest, 'onHangup'>) {
  let gone: (() => void) | undefined;
  const jobs = engine.claim({
    ...request,
    onHangup: (tell) => {
      gone = tell;
    },
  });
  return { jobs, hangUp: () => gone?.() };
}
