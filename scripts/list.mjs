const WIDTH = 120;

/** A list on lines of up to WIDTH. */
export function list(items) {
  const lines = [];
  for (const item of items) {
    const last = lines.at(-1);
    if (last !== undefined && `${last}, ${item},`.length <= WIDTH)
      lines[lines.length - 1] = `${last}, ${item}`;
    else lines.push(item);
  }
  return lines.join(',\n');
}
