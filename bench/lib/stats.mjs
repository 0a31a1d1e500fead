/** The q-quantile by nearest rank; NaN of an empty list. */
export function quantile(values, q) {
  if (values.length === 0) return Number.NaN;
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1))];
}

/** The middle value. Of an even number of values, the mean of the middle two. */
export function median(values) {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export const p50 = (values) => quantile(values, 0.5);
export const p95 = (values) => quantile(values, 0.95);
export const p99 = (values) => quantile(values, 0.99);

/** A number for people: three significant digits, commas between thousands. */
export function show(value) {
  if (typeof value !== 'number') return String(value ?? '');
  if (!Number.isFinite(value)) return '–';
  if (Number.isInteger(value) || Math.abs(value) >= 100) return Math.round(value).toLocaleString('en-US');
  return value.toPrecision(3);
}
