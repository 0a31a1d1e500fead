/** A notification of this replica comes back to it, too: its echo. After this time it is missed. */
const ECHO_MS = 5000;
/** When an echo takes longer than this, Dibs does not count on notifications. */
const LATE_MS = 2000;

/**
 * Knows whether what this replica sends comes back to it. `missed` is called when an echo does not come. `hasCome` tells
 * whether an earlier one came on the same connection.
 */
export function createEcho(missed: (hasCome: boolean) => void) {
  let timer: NodeJS.Timeout | undefined;
  let from = 0;
  let hasCome = false;

  function forget(): void {
    clearTimeout(timer);
    timer = undefined;
  }

  return {
    /** A new connection listens. */
    begin(): void {
      hasCome = false;
    },

    /** A notification is sent. */
    expect(): void {
      if (timer) return;
      from = performance.now();
      timer = setTimeout(() => missed(hasCome), ECHO_MS).unref();
    },

    /** It could not be sent, or the connection is lost. */
    forget,

    came(): void {
      hasCome = true;
      forget();
    },

    /** Whether echoes come in time. */
    comes: (): boolean => hasCome && !(timer && performance.now() > from + LATE_MS),
  };
}
