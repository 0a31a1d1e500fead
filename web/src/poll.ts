import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { Problem } from './api.ts';

export interface Polled<T> {
  /** The last good answer. It stays while Dibs is away. */
  data: T | undefined;
  problem: Problem | undefined;
  /** Asks again, now. */
  reload: () => Promise<void>;
}

let isLive = true;
/** The switch that stops all updates. */
export const live = {
  is: () => isLive,
  set: (on: boolean) => {
    isLive = on;
  },
};

/** Asks now, and then again and again while somebody looks. A change of `key` asks anew. `everyMs` 0: only once. */
export function usePoll<T>(key: string, ask: () => Promise<T>, everyMs = 0): Polled<T> {
  const [state, setState] = useState<{ key: string; data?: T; problem?: Problem }>({ key });
  const asking = useRef(ask);
  asking.current = ask;
  const current = useRef(key);
  current.current = key;

  const reload = useCallback(async () => {
    const asked = current.current;
    try {
      const data = await asking.current();
      if (current.current === asked) setState({ key: asked, data });
    } catch (error) {
      const problem = error instanceof Problem ? error : new Problem(0, 'bug', String(error));
      if (current.current !== asked) return;
      setState((before) => ({ ...(before.key === asked ? before : {}), key: asked, problem }));
    }
  }, []);

  // A change of key asks anew.
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isOver = false;
    async function turn() {
      await reload();
      if (!isOver && everyMs > 0) timer = setTimeout(wait, everyMs);
    }
    const wait = () => {
      if (isOver) return;
      if (document.hidden || !isLive) timer = setTimeout(wait, 500);
      else void turn();
    };
    void turn();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [key, everyMs, reload]);

  const isOld = state.key !== key;
  return { data: isOld ? undefined : state.data, problem: isOld ? undefined : state.problem, reload };
}
