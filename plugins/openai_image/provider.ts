import {
  createFailOver,
  GatewayError,
  type GeneratedImage,
  type HttpStream,
  type ImageCall,
  type ImageProvider,
  isGatewayError,
  type PluginContext,
  readRefusal,
  TryFailure,
  tryUpstream,
  uselessAnswer,
} from 'mediagate';
import { type FoundImage, findImage, imageType, readUsage } from './answer.js';
import { createAnswerScan, type ScannedAnswer } from './answer-scan.js';
import { downloadImage, MAX_IMAGE_BYTES } from './download.js';
import { afterLostAnswer, refusalFailure } from './failures.js';
import { askedSize } from './sizes.js';
import type { Options, Upstream } from './upstream.js';
import { encodeRequest } from './wire.js';

/** Base64 of an image, and room for the JSON around it. */
const MAX_ANSWER_BYTES = 64 * 1024 * 1024;

export function createOpenaiImageProvider(context: PluginContext<Options>): ImageProvider {
  const { options, http, clock, logger } = context;
  const { upstreams, models, budgetMs, restMs } = options;
  const failOver = createFailOver({ upstreams, clock, restMs });

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
      throw refusalFailure(await readRefusal(response, clock), call, upstream, clock.now());
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

  const attempt = (call: ImageCall, upstream: Upstream, remainingMs: number) =>
    tryUpstream(
      {
        logger,
        clock,
        model: call.model,
        member: `upstreams.${upstreams.indexOf(upstream)}`,
        signal: call.signal,
        lost: afterLostAnswer(call, upstream),
      },
      () => ask(call, upstream, remainingMs),
    );

  const maxReferences = Math.max(...upstreams.map((upstream) => upstream.maxReferences));

  return {
    models: models.map((id) => ({ id, maxReferences, formats: ['png', 'jpeg', 'webp'] })),
    upstreams: () => failOver.states(),
    async generate(call) {
      call.signal.throwIfAborted();
      const suits = (upstream: Upstream) => call.references.length <= upstream.maxReferences;
      if (!upstreams.some(suits)) {
        const message = `The model takes at most ${maxReferences} reference images.`;
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
