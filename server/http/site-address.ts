import { isLoopbackHost } from 'mediagate';

/** Where people reach the site, and what follows from that. */
export interface SiteAddress {
  /** Without a trailing slash. */
  url: string;
  /** Scheme, host and port. */
  origin: string;
  /** Host and port, as a Host header names them. */
  host: string;
  /** Whether it is this machine alone. */
  loopback: boolean;
  /** Names of its cookies. The prefix makes browsers refuse them from any other host, and without TLS. */
  cookies: { session: string; attempt: string };
  /** Whether cookies travel by TLS alone. */
  secure: boolean;
}

/**
 * Makes a function that tells the address. It is asked for each request, since which port was taken is known only once
 * the gateway listens.
 */
export function createSiteAddress(url: () => string): () => SiteAddress {
  let known: SiteAddress | undefined;
  return () => {
    const now = url();
    if (known?.url !== now) known = describeAddress(now);
    return known;
  };
}

function describeAddress(url: string): SiteAddress {
  const { origin, host, hostname, protocol } = new URL(url);
  const secure = protocol === 'https:';
  const prefix = secure ? '__Host-' : '';
  return {
    url,
    origin,
    host,
    loopback: isLoopbackHost(hostname),
    cookies: { session: `${prefix}mediagate`, attempt: `${prefix}mediagate-sign-in` },
    secure,
  };
}
