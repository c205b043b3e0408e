/*
 * The signing keys of an identity provider, which change now and then. Fetched keys serve for 5 minutes. A token with
 * an unknown key id causes one fresh fetch, once a minute per id and 10 times a minute in total, so that a sign-in
 * right after a change works. Concurrent requests share one fetch.
 */

import { type CustomFetch } from 'openid-client';
import { type Clock } from '../../../core/runtime/index.js';
import { FixedWindow } from '../../http/index.js';

/** How long fetched keys are used for tokens that name them. */
const FRESH_MS = 300_000;

/** Fetches for unknown key ids, besides those by time. */
const FETCHES_PER_MINUTE = 10;

type Answer = Awaited<ReturnType<CustomFetch>>;

interface FetchedKeys {
  body: string;
  type: string;
  ids: ReadonlySet<string>;
  at: number;
}

/**
 * The signing keys of an identity provider. The client library fetches them again after a minute at the soonest, so
 * that sign-ins fail that long after the provider has changed its keys. Here a token with an unknown key id causes one
 * fresh fetch, once a minute per id, and 10 times a minute in total.
 */
export class IssuerKeys {
  readonly #plain: CustomFetch;
  readonly #clock: Clock;
  readonly #url: string;
  readonly #asked: FixedWindow;
  readonly #fetches: FixedWindow;
  #known: FetchedKeys | undefined;
  #pending: Promise<Answer> | undefined;

  constructor(plain: CustomFetch, { clock, url }: { clock: Clock; url: string }) {
    this.#plain = plain;
    this.#clock = clock;
    this.#url = url;
    this.#asked = new FixedWindow({ clock, max: 1, name: 'unknown key ids' });
    this.#fetches = new FixedWindow({ clock, max: FETCHES_PER_MINUTE, name: 'fetches of keys' });
  }

  /** The HTTP function of one sign-in: it remembers the key id of the token it received. */
  fetch(): CustomFetch {
    let keyId: string | undefined;
    return async (target, options) => {
      if (target === this.#url) return this.#keysFor(keyId, target, options);
      const answer = await this.#plain(target, options);
      if (options.method !== 'POST') return answer;
      const body = await answer.text();
      keyId = keyIdOf(body);
      return new Response(body, { status: answer.status, headers: answer.headers });
    };
  }

  async #keysFor(id: string | undefined, ...request: Parameters<CustomFetch>): Promise<Answer> {
    const known = this.#known;
    const fresh = known && this.#clock.monotonic() - known.at < FRESH_MS ? known : undefined;
    if (fresh && (id === undefined || fresh.ids.has(id))) return answerOf(fresh);
    // Concurrent requests share one fetch, also for different keys.
    if (!this.#pending) {
      if (fresh && id !== undefined) {
        if (this.#asked.blockedFor(id) !== undefined || this.#fetches.blockedFor('') !== undefined) {
          return answerOf(fresh);
        }
        this.#asked.add(id);
        this.#fetches.add('');
      }
      this.#pending = this.#read(...request).finally(() => {
        this.#pending = undefined;
      });
    }
    return (await this.#pending).clone();
  }

  async #read(...request: Parameters<CustomFetch>): Promise<Answer> {
    const answer = await this.#plain(...request);
    if (answer.status !== 200) return answer;
    const body = await answer.text();
    const type = answer.headers.get('content-type') ?? '';
    this.#known = { body, type, ids: idsOf(body), at: this.#clock.monotonic() };
    return answerOf(this.#known);
  }
}

function answerOf({ body, type }: FetchedKeys): Answer {
  return new Response(body, { headers: { 'content-type': type } });
}

function idsOf(body: string): Set<string> {
  const { keys } = (parse(body) ?? {}) as { keys?: unknown };
  const ids = Array.isArray(keys) ? keys.map((key: { kid?: unknown } | null) => key?.kid) : [];
  return new Set(ids.filter((id) => typeof id === 'string'));
}

/** The key id stated in the token; the library verifies the signature. */
function keyIdOf(body: string): string | undefined {
  const { id_token: token } = (parse(body) ?? {}) as { id_token?: unknown };
  if (typeof token !== 'string') return undefined;
  const header = parse(Buffer.from(token.split('.', 1)[0] ?? '', 'base64url').toString());
  const { kid } = (header ?? {}) as { kid?: unknown };
  return typeof kid === 'string' ? kid.slice(0, 1_000) : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The library refuses invalid JSON.
    return undefined;
  }
}
