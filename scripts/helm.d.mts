export function hashOf(root?: string): string;
