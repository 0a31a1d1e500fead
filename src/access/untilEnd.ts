import type { OnEnd } from '../caller.ts';
import type { HeldSession } from '../verbs/sessions.ts';

interface Wait {
  wait_seconds?: number;
  onHangup?: ((gone: () => void) => void) | undefined;
}

export type Run = (request: unknown) => Promise<unknown>;

/** Ends what a caller waits for when its key is revoked: the request is answered as if its time was over. */
export const untilEnd = (run: Run, onEnd: OnEnd) => (request: Wait & { claim?: Wait }) => {
  const wait = request.claim ?? request;
  if (!wait.wait_seconds) return run(request);
  let forget = () => {};
  const onHangup = (gone: () => void) => {
    wait.onHangup?.(gone);
    forget = onEnd(gone);
  };
  const ended = { ...wait, onHangup };
  return run(request.claim ? { ...request, claim: ended } : ended).finally(() => forget());
};

/** Lets go of what a caller holds when its key is revoked. */
export const heldUntilEnd =
  (run: Run, onEnd: OnEnd): Run =>
  async (request) => {
    const held = (await run(request)) as HeldSession;
    const forget = onEnd(() => held.letGo('revoked'));
    void held.lost.then(forget);
    return held;
  };
