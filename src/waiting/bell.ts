/** Rings for one listener. If it rang before, the listener hears it at once. */
export function createBell() {
  let rung = false;
  let hear: () => void = () => undefined;
  return {
    ring(): void {
      rung = true;
      hear();
    },
    async heard(): Promise<void> {
      if (!rung)
        await new Promise<void>((resolve) => {
          hear = resolve;
        });
      rung = false;
    },
  };
}
