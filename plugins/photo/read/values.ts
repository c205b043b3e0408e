import { asNumber, asString } from 'mediagate';

const LARGEST_COUNT = 1e12;

/** A count, as a number or in digits; the site sends -1 where it hides one. */
export function count(value: unknown): number | undefined {
  const number = typeof value === 'string' && /^\d{1,12}$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number >= 0 && number < LARGEST_COUNT
    ? number
    : undefined;
}

/** A length in pixels, or another count that a zero would say nothing of. */
export function positive(value: unknown): number | undefined {
  return count(value) || undefined;
}

/** An id as digits; replies have it as a number or a text, and sometimes with the owner's id behind an underscore. */
export function digits(value: unknown): string | undefined {
  const text = typeof value === 'number' && Number.isSafeInteger(value) ? String(value) : asString(value);
  return text === undefined ? undefined : /^([1-9]\d{0,24})(?:_\d+)?$/.exec(text)?.[1];
}

/** A length in seconds. */
export function seconds(value: unknown): number | undefined {
  const number = asNumber(value);
  return number !== undefined && number > 0 ? number : undefined;
}

/** An absolute address; old pages have them without https, which the hosts all answer. */
export function address(value: unknown): string | undefined {
  const text = asString(value)?.replace(/^(?:http:)?\/\//, 'https://');
  return text?.startsWith('https://') && URL.canParse(text) ? text : undefined;
}

const USERNAME = /^[A-Za-z0-9._]{1,60}$/;

export function username(value: unknown): string | undefined {
  const text = asString(value);
  return text && USERNAME.test(text) ? text : undefined;
}

export function profileUrl(name: string | undefined): string | undefined {
  return name && `https://www.instagram.com/${name}/`;
}
