const CURRENCIES: ReadonlySet<string> = new Set(Intl.supportedValuesOf('currency'));

/** Whether ISO 4217 has it. */
export function isCurrency(code: string): boolean {
  return CURRENCIES.has(code);
}

/** Digits after the point that a currency has: EUR 2, VND 0. */
export function minorDigits(currency: string): number {
  const { maximumFractionDigits = 0 } = new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions();
  return maximumFractionDigits;
}

/** An amount in minor units as people write it: `12.34 EUR`, `299,000 VND`. */
export function renderMoney(amount: number, currency: string): string {
  const digits = minorDigits(currency);
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return `${(amount / 10 ** digits).toLocaleString('en-US', options)} ${currency}`;
}
