const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const AMOUNT = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

export function whole(value: number): string {
  return WHOLE.format(value);
}

export function amount(value: number): string {
  return AMOUNT.format(value);
}

export function bytes(value: number): string {
  if (value < 1_000_000) return `${amount(value / 1_000)} kB`;
  return `${amount(value / 1_000_000)} MB`;
}

/** `3:32`, `1:03:32`. */
export function clock(seconds: number): string {
  const total = Math.round(seconds);
  const parts = [Math.floor(total / 60) % 60, total % 60];
  const hours = Math.floor(total / 3_600);
  const [minutes = 0, rest = 0] = parts;
  const tail = `${hours > 0 ? String(minutes).padStart(2, '0') : minutes}:${String(rest).padStart(2, '0')}`;
  return hours > 0 ? `${hours}:${tail}` : tail;
}

/** Money in the major unit of its currency. Currencies that nobody knows stand beside the figure. */
export function price(value: number, currency: string | undefined): string {
  try {
    if (currency !== undefined) return new Intl.NumberFormat('en', { style: 'currency', currency }).format(value);
  } catch {
    return `${AMOUNT.format(value)} ${currency}`;
  }
  return AMOUNT.format(value);
}
