import type { Facts } from './facts.js';
import type { Page } from './fetch.js';

/** What a visitor's browser would send along with a query; made anew for each post, and nobody is signed in. */
export interface Session {
  token: string;
  csrf?: string;
  /** Value of the `cookie` header. */
  cookie?: string;
}

const TOKENS = [/\["LSD",\[\],\{"token":"([\w-]+)"/, /<script id="__eqmc"[^<>]*>[^<]*?"l":"([\w-]+)"/];

/** Undefined where the page has no token, as a login page or a refusal. */
export function readSession({ html, headers }: Page, facts: Facts): Session | undefined {
  const token = TOKENS.map((pattern) => pattern.exec(html)?.[1]).find((found) => found !== undefined);
  if (token === undefined) return undefined;
  const cookies = new Map<string, string>();
  for (const field of headers['set-cookie']?.split('\n') ?? []) {
    const [, name = '', value = ''] = /^\s*([\w-]+)=([^;\s]*)/.exec(field) ?? [];
    if (facts.cookies.includes(name) && value !== '') cookies.set(name, value);
  }
  const csrf = cookies.get('csrftoken') ?? /"csrf_token"\s*:\s*"([\w-]+)"/.exec(html)?.[1];
  return {
    token,
    csrf,
    cookie: cookies.size > 0 ? [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') : undefined,
  };
}
