import type { ExtractorDefinition } from './extractor-definition.js';
import { createRecording, type Recording } from './recording.js';

const TIMEOUT_MS = 25_000;

/** A recorder on the real network, with the guard and limits of the gateway's own client. */
export async function recordSample({ secrets }: ExtractorDefinition): Promise<Recording> {
  const [{ createHttpTransport }, { createAddressGuard }] = await Promise.all([
    import('../net/http-client.js'),
    import('../net/egress.js'),
  ]);
  const transport = createHttpTransport({
    guard: createAddressGuard({}),
    egressProxyUrl: process.env.EGRESS_PROXY_URL,
  });
  const client = transport.scoped({
    timeoutMs: TIMEOUT_MS,
    trustedOrigins: [],
    signal: new AbortController().signal,
  });
  return createRecording(client, secrets);
}
