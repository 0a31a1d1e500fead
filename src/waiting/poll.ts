const POLL_MS = 1000;

/**
 * Looks once a second which of what clients wait for here has ended, in case a notification was lost. It does not while the
 * replica rests. An outage shows within the same time: `failed` is called.
 */
export function pollEnds(options: {
  look(): Promise<void>;
  isAwake(): boolean;
  failed(error: unknown): void;
}) {
  const { look, isAwake, failed } = options;
  let looking = false;

  function lookOnce(): void {
    if (looking) return;
    looking = true;
    look()
      .catch(failed)
      .finally(() => {
        looking = false;
      });
  }

  const poll = setInterval(() => {
    if (isAwake()) lookOnce();
  }, POLL_MS);
  poll.unref();

  return { look: lookOnce, stop: () => clearInterval(poll) };
}
