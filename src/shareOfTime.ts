/** How long to rest after work that took this long, so that the work takes this share of the time. */
export const restAfter = (workMs: number, share: number): number => workMs * (1 / share - 1);
