import type { IncomingHttpHeaders } from 'node:http';

/** What a client asks for in `Prefer` (RFC 7240), of what is understood here. */
export interface Preferences {
  respondAsync: boolean;
  /** Seconds. */
  wait?: number;
}

/** Whatever else is preferred is ignored, as the RFC has it; of two of a kind, the first counts. */
export function readPreferences({ prefer }: IncomingHttpHeaders): Preferences {
  const preferences: Preferences = { respondAsync: false };
  for (const part of String(prefer ?? '').split(',')) {
    const [name = '', value = ''] = (part.split(';')[0] ?? '').split('=').map((piece) => piece.trim());
    if (name.toLowerCase() === 'respond-async') preferences.respondAsync = true;
    const [, seconds] = /^"?(\d+)"?$/.exec(value) ?? [];
    if (name.toLowerCase() === 'wait' && seconds !== undefined) preferences.wait ??= Number(seconds);
  }
  return preferences;
}
