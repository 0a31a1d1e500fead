import type { OnEnd } from '../caller.ts';

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
