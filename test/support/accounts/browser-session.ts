/** A browser without scripts: it keeps cookies and follows the site by its forms. */

/** An answer, and what a browser would keep of it. */
export interface PageAnswer {
  status: number;
  url: string;
  headers: Headers;
  text: string;
  /** Where it redirects to, absolute. */
  location?: string;
}

export interface PageRequest {
  method?: 'GET' | 'POST' | 'DELETE';
  /** Sent as a form. */
  form?: Record<string, string>;
  /** Sent as JSON. */
  json?: unknown;
  /** Sent as it is. */
  body?: string;
  headers?: Record<string, string>;
}

/** What a browser does with cookies, hosts and forms, over real sockets; without a window. */
export interface BrowserSession {
  /** One request, redirects not followed. */
  send(url: string, request?: PageRequest): Promise<PageAnswer>;
  /** Follows redirects to the first page, 10 at the most. Its trail is in {@link trail}. */
  open(url: string, request?: PageRequest): Promise<PageAnswer>;
  /** Addresses that the last {@link open} went through. */
  readonly trail: readonly string[];
  cookie(url: string, name: string): string | undefined;
  setCookie(url: string, name: string, value: string): void;
  removeCookie(url: string, name: string): void;
}

/** Cookies know hosts, and no ports: as in a browser. */
export function createBrowserSession(): BrowserSession {
  const jars = new Map<string, Map<string, { value: string; path: string }>>();
  let trail: string[] = [];

  function jarOf(url: string): Map<string, { value: string; path: string }> {
    const { hostname } = new URL(url);
    const jar = jars.get(hostname) ?? new Map();
    jars.set(hostname, jar);
    return jar;
  }

  function keep(url: string, headers: Headers): void {
    for (const cookie of headers.getSetCookie()) {
      const [pair = '', ...attributes] = cookie.split(';').map((part) => part.trim());
      const [name, value] = nameAndValue(pair);
      const told = new Map(attributes.map(nameAndValue).map(([attribute, is]) => [attribute.toLowerCase(), is]));
      const expires = told.get('expires');
      const isOver = told.get('max-age') === '0' || (expires !== undefined && Date.parse(expires) <= Date.now());
      if (isOver) jarOf(url).delete(name);
      else jarOf(url).set(name, { value, path: told.get('path') ?? '/' });
    }
  }

  async function send(url: string, { method, form, json, body, headers }: PageRequest = {}): Promise<PageAnswer> {
    const { pathname, origin } = new URL(url);
    const cookies = [...jarOf(url)].filter(([, { path }]) => pathname.startsWith(path));
    const verb = method ?? (form || json !== undefined ? 'POST' : 'GET');
    const response = await fetch(url, {
      method: verb,
      redirect: 'manual',
      signal: AbortSignal.timeout(60_000),
      headers: {
        accept: 'text/html,application/xhtml+xml,*/*;q=0.8',
        ...(cookies.length > 0 && { cookie: cookies.map(([name, { value }]) => `${name}=${value}`).join('; ') }),
        ...(verb !== 'GET' && { origin, 'sec-fetch-site': 'same-origin' }),
        ...(json !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(form && { body: new URLSearchParams(form) }),
      ...(json !== undefined && { body: JSON.stringify(json) }),
      ...(body !== undefined && { body }),
    });
    keep(url, response.headers);
    const to = response.headers.get('location');
    const location = to === null ? {} : { location: new URL(to, url).href };
    return { status: response.status, url, headers: response.headers, text: await response.text(), ...location };
  }

  return {
    send,
    async open(url, request) {
      trail = [url];
      let answer = await send(url, request);
      for (let hops = 0; answer.location !== undefined && hops < 10; hops += 1) {
        trail.push(answer.location);
        answer = await send(answer.location);
      }
      return answer;
    },
    get trail() {
      return trail;
    },
    cookie: (url, name) => jarOf(url).get(name)?.value,
    setCookie: (url, name, value) => void jarOf(url).set(name, { value, path: '/' }),
    removeCookie: (url, name) => void jarOf(url).delete(name),
  };
}

function nameAndValue(pair: string): [name: string, value: string] {
  const [name = '', ...value] = pair.split('=');
  return [name, value.join('=')];
}

/** A person signs in, through the pages of the development provider. The first one of a gateway is its operator. */
export async function signInAt(gateway: { url: string }, email: string): Promise<BrowserSession> {
  const browser = createBrowserSession();
  const page = await browser.open(`${gateway.url}/signin?return_to=/device`);
  let answer = await browser.send(page.url, { form: { email, name: '', action: 'sign-in' } });
  while (answer.location !== undefined) answer = await browser.send(answer.location);
  if (!browser.cookie(gateway.url, 'mediagate')) throw new Error(`no sign-in: ${answer.status} ${answer.text}`);
  return browser;
}

/** The operator of a fresh gateway, so that those who sign in later are customers. */
export const OPERATOR = 'operator@example.com';
