import { useEffect, useRef } from 'preact/hooks';

/** Who types on within this time asks once. */
const PAUSE_MS = 300;

/** Waits for a pause of somebody who types. */
export function useTyping() {
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const stopTyping = () => clearTimeout(timer.current);
  useEffect(() => stopTyping, []);
  return {
    /** Does this in the next pause, and nothing that was to be done then before. */
    whenTyped(act: () => void): void {
      stopTyping();
      timer.current = setTimeout(act, PAUSE_MS);
    },
    stopTyping,
  };
}
