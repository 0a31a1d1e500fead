export function released(changelog: string, version: string, day: string): string;
export function obstacle(
  version: string | undefined,
  state: { tags: string[]; status: string[]; current: string },
): string | undefined;
