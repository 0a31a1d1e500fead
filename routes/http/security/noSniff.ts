/** A header of every answer: no browser takes it for something else than its content type says. */
export const NO_SNIFF = ['x-content-type-options', 'nosniff'] as const;
