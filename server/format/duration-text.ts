const UNITS = [
  [24 * 60 * 60 * 1000, 'd'],
  [60 * 60 * 1000, 'h'],
  [60 * 1000, 'min'],
] as const;

/** Of milliseconds, the largest unit that there are two of: `12 s`, `3 min`, `47 h`. */
export function renderDuration(ms: number): string {
  const [size, name] = UNITS.find(([unit]) => ms >= 2 * unit) ?? [1000, 's'];
  return `${Math.floor(Math.max(0, ms) / size)} ${name}`;
}
