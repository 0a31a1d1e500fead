import { createBell } from './bell.ts';

/** A request that waits for the end of a job: it is woken when the job may have ended, and is over after `ms`. */
export function openWait(ms: number) {
  const bell = createBell();
  let isOver = ms === 0;
  let failure: { error: unknown } | undefined;

  /** The request looks at its job once more and is answered. */
  function end(): void {
    isOver = true;
    bell.ring();
  }
  const timer = setTimeout(end, ms);

  return {
    wake: bell.ring,
    end,
    isOver: () => isOver,

    fail(error: unknown): void {
      failure = { error };
      bell.ring();
    },

    throwIfFailed(): void {
      if (failure) throw failure.error;
    },

    /** Resolves when it is woken, over or failed. */
    async woken(): Promise<void> {
      if (!isOver) await bell.heard();
    },

    close: (): void => clearTimeout(timer),
  };
}

export type OpenWait = ReturnType<typeof openWait>;
