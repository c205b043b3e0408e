import { GatewayError } from '../errors.js';
import type { BodyReader, PacedBody } from './paced-body.js';

/** An answer that is no stream goes out when all of it is here, so that one that breaks off is a clean error. */
const MAX_BYTES = 32 * 1024 * 1024;

export interface WholeBodyOptions {
  body: PacedBody;
  /** Gets what came, also of a body that breaks off. */
  received: Uint8Array[];
  /** Called whenever bytes come. */
  onBytes(): void;
}

/**
 * Reads a body to its end.
 * @throws GatewayError `upstream_error` where it is longer than 32 MiB; what the body throws.
 */
export function readWholeBody({ body, received, onBytes }: WholeBodyOptions): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let bytes = 0;
    const reader: BodyReader = {
      take(chunk) {
        onBytes();
        bytes += chunk.length;
        if (bytes > MAX_BYTES) {
          reject(new GatewayError('upstream_error', 'The answer of the model is too long.'));
          return;
        }
        received.push(chunk);
        body.ask(reader);
      },
      noticeSilence: () => body.ask(reader),
      finish: () => resolve(asOne(received)),
      fail: reject,
    };
    body.ask(reader);
  });
}

function asOne(chunks: readonly Uint8Array[]): Buffer {
  const [only] = chunks;
  return chunks.length === 1 && Buffer.isBuffer(only) ? only : Buffer.concat(chunks);
}
