import { GatewayError, isGatewayError } from '../errors.js';
import type { EventReader } from './event-reader.js';
import { createEventRewriter } from './event-rewriter.js';
import { END, type PacedBody, SILENCE } from './paced-body.js';

/** A comment: readers of events pass over it, and proxies see that the connection is alive. */
const KEEP_ALIVE = Buffer.from(': keep-alive\n\n');

export interface AnswerStreamOptions {
  body: PacedBody;
  reader: EventReader;
  /** Public model id as JSON text. */
  modelText: Buffer;
  /** Whether the caller has gone; then nobody is told anything. */
  hasLeft(): boolean;
  /** Called whenever bytes come. */
  onBytes(): void;
  /** Called once, whatever happens: with what kept the answer from coming to its own end, where something did. */
  onEnd(failure: GatewayError | undefined): void;
}

/** Events as they come, and the event that ends them well where the upstream did not send it. Never throws. */
export async function* streamAnswer(options: AnswerStreamOptions): AsyncGenerator<Buffer> {
  const { body, reader, modelText, hasLeft, onBytes, onEnd } = options;
  const rewriter = createEventRewriter(reader, modelText);
  // What holds where the caller leaves: a generator is then ended where it stands.
  let failure: GatewayError | undefined = new GatewayError('bad_request', 'The client closed the connection.');
  let closing: string | undefined;
  try {
    for (;;) {
      const came = await body.next();
      if (came === END) break;
      if (came === SILENCE) {
        yield KEEP_ALIVE;
        continue;
      }
      onBytes();
      const output = rewriter.push(came);
      if (output) yield output;
    }
    const last = rewriter.finish();
    if (last) yield last;
    closing = reader.ended ? undefined : reader.closing;
    failure = closing === undefined ? brokenOff() : undefined;
  } catch (error) {
    failure = failureOf(error);
  } finally {
    // What would have come after the end is missed by nobody.
    if (reader.ended) failure = undefined;
    body.close();
    onEnd(failure);
  }
  if (hasLeft()) return;
  if (failure) yield Buffer.from(reader.failure(failure));
  else if (closing !== undefined) yield Buffer.from(closing);
}

function brokenOff(cause?: unknown): GatewayError {
  return new GatewayError('upstream_error', 'The stream of the model broke off.', { cause });
}

function failureOf(error: unknown): GatewayError {
  if (!isGatewayError(error)) return brokenOff(error);
  // What became of the connection is told by words that say what became of the answer.
  return error.code === 'upstream_error' ? brokenOff(error) : error;
}
