/** Reads environment variables, and gathers what is wrong with them. An empty variable counts as none. */
export function createVariables(env: Record<string, string | undefined>) {
  /** One line for each bad variable. Each begins with its name. */
  const problems: string[] = [];

  /** The value of a variable, or undefined when it has none. */
  const text = (name: string): string | undefined => env[name] || undefined;

  return {
    problems,
    text,

    integer(name: string, fallback: number, least: number, most: number): number {
      const given = text(name);
      if (given === undefined) return fallback;
      const value = /^\d+$/.test(given) ? Number(given) : Number.NaN;
      if (value >= least && value <= most) return value;
      problems.push(`${name} must be a whole number from ${least} to ${most}, not "${given}"`);
      return fallback;
    },

    oneOf(name: string, fallback: string, values: string[]): string {
      const given = text(name) ?? fallback;
      if (!values.includes(given))
        problems.push(`${name} must be one of ${values.join(', ')}, not "${given}"`);
      return given;
    },

    /** A list with commas in between. Its items are in small letters. */
    list(name: string, isValid: (item: string) => boolean, what: string): string[] {
      const items = (text(name) ?? '').split(',').map((item) => item.trim().toLowerCase());
      const given = items.filter((item) => item !== '');
      for (const item of given)
        if (!isValid(item)) problems.push(`${name} must be ${what}, separated by commas, not "${item}"`);
      return given;
    },
  };
}

export type Variables = ReturnType<typeof createVariables>;
