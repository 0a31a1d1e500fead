export const text = (value: string | null) => (value === null ? 'null' : JSON.stringify(value));
/** For a text that needs no escaping: an id, a time. */
export const plain = (value: string | null) => (value === null ? 'null' : `"${value}"`);
