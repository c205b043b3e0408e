import { Resolver } from 'node:dns/promises';
import { isSystemError } from '../runtime/index.js';

/** What c-ares says where a name exists without addresses of the kind asked for. */
const NO_SUCH_RECORD = 'ENODATA';

/**
 * Every IPv4 and IPv6 address of a name, asked of the configured name servers. Does its work outside of the thread pool,
 * which image decoding may keep busy for seconds, and does not read the hosts file.
 * @throws The resolver's own error where there is no address, or the signal's reason.
 */
export async function resolveHost(hostname: string, signal: AbortSignal): Promise<readonly string[]> {
  signal.throwIfAborted();
  // A resolver of its own: cancelling ends every query of a resolver.
  const resolver = new Resolver();
  const cancel = () => resolver.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
    signal.throwIfAborted();
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    const errors: unknown[] = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
    throw errors.find((error) => !isSystemError(error, NO_SUCH_RECORD)) ?? errors[0];
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}
