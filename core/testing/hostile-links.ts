const LONG = 100_000;

/** Links derived from valid ones that are not of the platform, or are deceptive. */
export interface HostileLinks {
  /** On other hosts, or not http: only undefined is accepted. */
  foreign: URL[];
  /** On the platform's hosts: undefined or `{ unsupported }`. */
  own: URL[];
  /** With names of Object.prototype: items or not, but never an inherited property. */
  inherited: URL[];
}

/** @param links - valid links of the platform. */
export function hostileLinks(links: readonly string[]): HostileLinks {
  const foreign = new Set<string>();
  const own = new Set<string>();
  const inherited = new Set<string>();
  for (const link of links) {
    const { host, hostname, pathname, search, href } = new URL(link);
    const rest = `${pathname}${search}`;
    // Platforms may own all of their subdomains, so the prefix is added to the registered name.
    const site = host.split('.').slice(-2).join('.');
    const homograph = homoglyph(hostname);
    const encoded = encodeURIComponent(href);
    for (const text of [
      `https://${host}.evil.example${rest}`,
      `https://evil${site}${rest}`,
      `https://evil-${site}${rest}`,
      `https://${host.replaceAll('.', '-')}.example${rest}`,
      `https://${host}@evil.example${rest}`,
      `https://evil.example\\@${host}${rest}`,
      `https://evil.example${rest}`,
      `https://evil.example/${host}${rest}`,
      `https://evil.example/?url=${encoded}`,
      `https://evil.example/#${href}`,
      ...(homograph === hostname ? [] : [`https://${homograph}${rest}`]),
      `https://127.0.0.1${rest}`,
      `https://[::1]${rest}`,
      `https://2130706433${rest}`,
      `ftp://${host}${rest}`,
      `file://${host}${rest}`,
      `javascript:${href}`,
      `data:text/plain,${encoded}`,
    ]) {
      foreign.add(text);
    }
    for (const text of [
      `https://user:password@${host}${rest}`,
      `https://user@${host}${rest}`,
      `https://${host}:8443${rest}`,
      `https://${host}/${'a'.repeat(LONG)}`,
      `https://${host}/${'%'.repeat(100)}`,
      `https://${host}/%E0%A4%A`,
      `https://${host}/%00`,
      `https://${host}/%2f%2fevil.example`,
      `https://${host}//evil.example${pathname === '/' ? '' : '/x'}`,
      ...(pathname.indexOf('/', 1) > 0 ? [`https://${host}/${pathname.slice(1).replaceAll('/', '%2f')}${search}`] : []),
    ]) {
      own.add(text);
    }
    for (const name of ['constructor', '__proto__', 'toString']) {
      for (const path of [name, `${name}/1`, `us/${name}`]) inherited.add(`https://${host}/${path}`);
    }
  }
  return { foreign: parse(foreign), own: parse(own), inherited: parse(inherited) };
}

/** Links that the URL parser refuses never reach an extractor. */
function parse(texts: ReadonlySet<string>): URL[] {
  return [...texts].flatMap((text) => URL.parse(text) ?? []);
}

/**
 * The host with a Latin letter replaced by a Cyrillic one: a reader sees no difference, the parser makes `xn--…` of it.
 */
function homoglyph(host: string): string {
  return host.replace(/[aeopc]/, (letter) => ({ a: 'а', e: 'е', o: 'о', p: 'р', c: 'с' })[letter] ?? letter);
}
