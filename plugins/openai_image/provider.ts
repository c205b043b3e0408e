import {
  type Clock,
  createFailOver,
  GatewayError,
  type GeneratedImage,
  type HttpStream,
  type ImageCall,
  type ImageProvider,
  isGatewayError,
  type PluginContext,
  TryFailure,
} from 'mediagate';
import { type FoundImage, findImage, imageType, readUsage } from './answer.js';
import { createAnswerScan, type ScannedAnswer } from './answer-scan.js';
import { downloadImage, MAX_IMAGE_BYTES } from './download.js';
import { connectionFailure, refusalFailure, uselessAnswer } from './failures.js';
import { askedSize } from './sizes.js';
import type { Options, Upstream } from './upstream.js';
import { encodeRequest } from './wire.js';

/** Base64 of an image, and room for the JSON around it. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;
const MAX_REFUSAL_BYTES = 64 * 1024;
const REFUSAL_MS = 5_000;

export async function createOpenaiImageProvider(context: PluginContext<Options>): Promise<ImageProvider> {
  const { options, http, clock, logger } = context;
  const { upstreams, models, budgetMs, restMs } = options;
  const failOver = await createFailOver({ upstreams, clock, restMs });

  async function ask(call: ImageCall, upstream: Upstream, remainingMs: number): Promise<GeneratedImage> {
    const end = clock.monotonic() + remainingMs;
    const { size, warning } = askedSize(call.size, upstream);
    const { path, contentType, body } = encodeRequest(call, upstream, size);
    const response = await http.stream({
      url: upstream.url.replace(/\/+$/, '') + path,
      method: 'POST',
      headers: {
        'content-type': contentType,
        accept: 'application/json',
        ...(upstream.apiKey !== undefined && { authorization: `Bearer ${upstream.apiKey}` }),
        ...(call.idempotencyKey !== undefined && { 'idempotency-key': call.idempotencyKey }),
      },
      body,
      signal: call.signal,
      timeoutMs: Math.max(1, remainingMs),
      maxBytes: MAX_ANSWER_BYTES,
    });
    if (response.status !== 200) {
      const { status, headers } = response;
      throw refusalFailure({ status, headers, json: await readRefusal(response, clock) }, call, upstream, clock.now());
    }
    const answer = await readAnswer(response);
    if (answer === undefined) throw uselessAnswer('The upstream answered with something that is not JSON.');
    const found = findImage(answer);
    if (!found) throw uselessAnswer('The upstream answered without a usable image.');
    const bytes = await bytesOf(found, call, upstream, end);
    const type = imageType(bytes);
    if (!type) throw uselessAnswer('The upstream answered with something that is not an image.');
    const usage = readUsage(answer.json);
    return { bytes, contentType: type, ...(warning && { warnings: [warning] }), ...(usage && { usage }) };
  }

  async function bytesOf(found: FoundImage, call: ImageCall, upstream: Upstream, end: number): Promise<Uint8Array> {
    if ('bytes' in found) {
      if (found.bytes.length > MAX_IMAGE_BYTES) throw uselessAnswer('The image of the upstream is too large.');
      return found.bytes;
    }
    try {
      return await downloadImage({ context, url: found.url, upstream, signal: call.signal, end });
    } catch (error) {
      if (call.signal.aborted || !isGatewayError(error)) throw error;
      throw new TryFailure(error, { again: 'nowhere', counts: true });
    }
  }

  /** One try, with a line in the log where it fails. */
  async function attempt(call: ImageCall, upstream: Upstream, remainingMs: number): Promise<GeneratedImage> {
    const begun = clock.monotonic();
    try {
      return await ask(call, upstream, remainingMs);
    } catch (thrown) {
      const error = thrown instanceof TryFailure ? thrown : connectionFailure(thrown, call, upstream);
      if (error instanceof TryFailure) {
        const { code } = error.error;
        // Nobody but the operator can mend these, so they are alerts.
        const level = error.consequence.again === 'elsewhere' ? 'error' : 'warn';
        logger[level](`a try at an image upstream failed: ${error.message}`, {
          code,
          model: call.model,
          member: `upstreams.${upstreams.indexOf(upstream)}`,
          ms: Math.round(clock.monotonic() - begun),
          ...(error.error.cause !== undefined && { error: error.error.cause }),
        });
      }
      throw error;
    }
  }

  return {
    models,
    async generate(call) {
      call.signal.throwIfAborted();
      const suits = ({ maxReferences }: Upstream) => call.references.length <= maxReferences;
      if (!upstreams.some(suits)) {
        const most = Math.max(...upstreams.map(({ maxReferences }) => maxReferences));
        const message = `The model takes at most ${most} reference images.`;
        throw new GatewayError('too_many_images', message, { param: 'image' });
      }
      return failOver.run({
        budgetMs,
        signal: call.signal,
        suits,
        work: (upstream, remainingMs) => attempt(call, upstream, remainingMs),
      });
    },
  };
}

/** Undefined where it is not JSON. */
async function readAnswer({ body }: HttpStream): Promise<ScannedAnswer | undefined> {
  const scan = createAnswerScan();
  try {
    for await (const chunk of body) scan.push(chunk);
    return scan.end();
  } catch (error) {
    // The parser's own error quotes the text, and no log shall hold an upstream's body.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** JSON of an answer that is not 200; undefined where it is none, long (somebody's page), or slow to come. */
async function readRefusal({ body }: HttpStream, clock: Clock): Promise<unknown> {
  const done = new AbortController();
  const chunks = body[Symbol.asyncIterator]();
  // The status says enough: nobody waits for the rest of it.
  clock.sleep(REFUSAL_MS, done.signal).then(
    () => chunks.return?.(),
    () => {},
  );
  try {
    const read: Uint8Array[] = [];
    let length = 0;
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) {
      length += next.value.length;
      if (length > MAX_REFUSAL_BYTES) return undefined;
      read.push(next.value);
    }
    return JSON.parse(Buffer.concat(read).toString('utf8'));
  } catch {
    // No JSON, or it broke off.
    return undefined;
  } finally {
    done.abort();
    await chunks.return?.();
  }
}
