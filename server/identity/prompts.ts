/*
 * What a request for access asks of the sign-in (OpenID Connect Core, 3.1.2.1): `prompt` and `max_age`. The sessions are
 * those of the site, and the library has none: what it cannot know is kept beside the request, in fields of its own that
 * no client can send. They say whether a page may be shown, and since when the user must have signed in.
 */

import type { UserRecord } from '../accounts/index.js';

/** Fields of a request beside those of the protocol. */
const SILENT = 'mediagate_silent';
const SINCE = 'mediagate_since';
export const OWN_FIELDS = [SILENT, SINCE] as const;

/** A signed-in user of the site, and when that was in this browser, in milliseconds since 1970. */
export interface SignedInHere {
  user: UserRecord;
  signedInAt: number;
}

export interface Demand {
  /** No page may be shown. */
  isSilent: boolean;
  /** The user must have signed in since then, in milliseconds since 1970. */
  since: number;
}

export function demandIn(params: Readonly<Record<string, string | undefined>>): Demand {
  return { isSilent: params[SILENT] !== undefined, since: Number(params[SINCE] ?? 0) };
}

type Field = [name: string, value: string];

/** An agent is asked by a page each time. */
export function promptOfAgent(sent: URLSearchParams): Field[] {
  return sent.get('prompt') === 'none' ? [['prompt', 'none']] : [];
}

/**
 * What an application asks of the sign-in (OpenID Connect Core, 3.1.2.1), for the library and for the page. A wrong value
 * is refused by the library. `select_account` is a new sign-in, in which another user can be chosen.
 */
export async function promptOf(
  sent: URLSearchParams,
  here: SignedInHere | undefined,
  now: () => Promise<number>,
): Promise<Field[]> {
  const prompts = new Set((sent.get('prompt') ?? '').split(' ').filter((one) => one !== ''));
  if (prompts.delete('select_account')) prompts.add('login');
  const maxAge = sent.get('max_age');
  const seconds = maxAge !== null && /^\d{1,10}$/.test(maxAge) ? Number(maxAge) : undefined;
  const asked = maxAge === null ? [] : [['max_age', maxAge] as Field];
  const isNew = prompts.has('login') || seconds === 0;
  const since = isNew || seconds !== undefined ? (await now()) - (isNew ? 0 : (seconds ?? 0)) * 1_000 : 0;
  // The library has no session of its own, and would refuse each. A wrong age is refused by it as ever.
  const isSilent = sent.get('prompt') === 'none' && (maxAge === null || seconds !== undefined);
  if (isSilent && here && here.signedInAt >= since) {
    return [...asked, [SILENT, '1'], [SINCE, String(since)]];
  }
  return [
    ...(prompts.size > 0 ? [['prompt', [...prompts].join(' ')] as Field] : []),
    ...(isSilent ? [] : asked),
    ...(isSilent || since === 0 ? [] : [[SINCE, String(since)] as Field]),
  ];
}
