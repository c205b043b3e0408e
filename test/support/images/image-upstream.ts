/** A local server in OpenAI's image format. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { readForm, type SentFile } from '../audio/sent-form.js';
import { extendOrigin, type OriginServer, startOrigin } from '../links/origin-server.js';
import { type OpenaiError, openaiError } from '../models/openai-error.js';
import { bombPng, sampleImage } from './sample-images.js';

export type { SentFile } from '../audio/sent-form.js';

/** One request as the upstream saw it. */
export interface ImageUpstreamRequest {
  path: string;
  /** `Idempotency-Key`; undefined where none was sent. */
  key?: string;
  authorization?: string;
  traceparent?: string;
  contentType: string;
  prompt: string;
  /** JSON members, or text fields of the form. */
  members: Readonly<Record<string, unknown>>;
  files: readonly SentFile[];
  /** How many requests with this key there have been, this one included; without a key, how many in all. */
  count: number;
}

/** What the upstream does with one request. */
export type ImageUpstreamAnswer =
  /** An image as asked for; `size` gives it another, `large` some megabytes, `delayMs` makes it late. */
  | { does: 'image'; size?: string; large?: boolean; delayMs?: number; usage?: boolean }
  /** Likewise, as an address on this server, which refuses requests with credentials; `at` names another address. */
  | { does: 'url'; at?: string }
  /** Two images where one was asked for. */
  | { does: 'duplicate' }
  /** An error of the vendor's shape; `text` sends something else as the body. */
  | ({ does: 'error' } & OpenaiError)
  | { does: 'moderation' }
  /** JSON that ends in the middle, with the length it says. */
  | { does: 'cut_json' }
  | { does: 'html' }
  | { does: 'bad_base64' }
  /** A PNG of 900 megapixels in about 100 kB. */
  | { does: 'bomb' }
  /** No answer, ever. */
  | { does: 'stall' }
  /** Half an answer, then silence. */
  | { does: 'half_open' }
  /** Half an answer, then a reset; `before` without the half. */
  | { does: 'reset'; before?: boolean };

export type ImageUpstreamBehaviour =
  | readonly ImageUpstreamAnswer[]
  | ((request: ImageUpstreamRequest) => ImageUpstreamAnswer);

/** A server on loopback that speaks the vendor's format of generations and edits, faults included. */
export interface ImageUpstream extends OriginServer {
  /** To be given as `url` of an upstream. */
  readonly baseUrl: string;
  /** All that were understood, in the order they came. */
  readonly requests: readonly ImageUpstreamRequest[];
  /** Requests with this `Idempotency-Key`. */
  calls(key: string): number;
  /** Images that were made, whether or not they arrived. */
  readonly made: number;
  /** From the next request on; a list is used up one by one, and then there are images again. */
  behave(behaviour: ImageUpstreamBehaviour): void;
  /** Forgets requests and behaviour. */
  reset(): void;
}

const DEFAULT_SIZE = '1024x1024';
const MODERATION: OpenaiError = {
  status: 400,
  message: 'Your request was rejected by the safety system (req_0a1b2c3d4e5f). safety_violations=[violence].',
  type: 'image_generation_user_error',
  code: 'moderation_blocked',
};
const IMAGE: ImageUpstreamAnswer = { does: 'image' };

export interface ImageUpstreamOptions {
  /** Requests without it are answered with 401. Default: none is needed. */
  apiKey?: string;
  /** Told when an answer is on its way as a whole. */
  onAnswered?(request: ImageUpstreamRequest): void;
  /** Told when whoever asked left before that. */
  onLeft?(request: ImageUpstreamRequest): void;
}

export async function startImageUpstream(options: ImageUpstreamOptions = {}): Promise<ImageUpstream> {
  const files = new Map<string, Buffer>();
  const counts = new Map<string, number>();
  let requests: ImageUpstreamRequest[] = [];
  let behaviour: ImageUpstreamBehaviour = [];
  let used = 0;
  let made = 0;

  async function imageFor({ members, count }: ImageUpstreamRequest, answer: ImageUpstreamAnswer): Promise<Buffer> {
    made++;
    if (answer.does === 'bomb') return bombPng(30_000, 30_000);
    const { size = String(members.size ?? DEFAULT_SIZE), large = false } = answer.does === 'image' ? answer : {};
    const [width = 1024, height = 1024] = (size === 'auto' ? DEFAULT_SIZE : size).split('x').map(Number);
    const format = String(members.output_format ?? 'png') as 'png' | 'jpeg' | 'webp';
    return sampleImage({ width, height, format, seed: String(members.prompt).length + count, noise: large });
  }

  async function answerWith(request: ImageUpstreamRequest, response: ServerResponse): Promise<void> {
    const answer = typeof behaviour === 'function' ? behaviour(request) : (behaviour[used++] ?? IMAGE);
    response.once('finish', () => options.onAnswered?.(request));
    response.once('close', () => response.writableFinished || options.onLeft?.(request));
    if (answer.does === 'stall') return;
    if (answer.does === 'error') return sendError(response, answer);
    if (answer.does === 'moderation') return sendError(response, MODERATION);
    if (answer.does === 'html') return send(response, 200, '<!doctype html><title>One moment</title>', 'text/html');
    if (answer.does === 'reset' && answer.before) return void response.socket?.resetAndDestroy();
    const image = await imageFor(request, answer);
    if (answer.does === 'image' && answer.delayMs) await new Promise((done) => setTimeout(done, answer.delayMs));
    const streams = String(request.members.stream) === 'true';
    const body = streams ? eventsOf(request, image, answer) : bodyOf(image, answer);
    if (streams) return send(response, 200, body, 'text/event-stream; charset=utf-8');
    if (answer.does === 'cut_json') return send(response, 200, body.slice(0, body.length / 2));
    if (answer.does !== 'half_open' && answer.does !== 'reset') return send(response, 200, body);
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
    response.write(body.slice(0, body.length / 2), () => {
      if (answer.does === 'reset') response.socket?.resetAndDestroy();
    });
  }

  /** Partial images, all the same as the image, and the image. */
  function eventsOf({ path, members }: ImageUpstreamRequest, image: Buffer, { does }: ImageUpstreamAnswer): string {
    const kind = path.endsWith('edits') ? 'image_edit' : 'image_generation';
    const b64_json = image.toString('base64');
    const event = (type: string, fields: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
    const partials = Array.from({ length: Number(members.partial_images) }, (_, partial_image_index) =>
      event(`${kind}.partial_image`, { b64_json, partial_image_index }),
    );
    const usage = { input_tokens: 21, output_tokens: 1056, total_tokens: 1077 };
    const last = does === 'bad_base64' ? b64_json.replace(/^.{20}./, '$&*') : b64_json;
    const text = partials.join('') + event(`${kind}.completed`, { b64_json: last, usage });
    return does === 'cut_json' ? text.slice(0, -100) : text;
  }

  function bodyOf(image: Buffer, answer: ImageUpstreamAnswer): string {
    const one = () => {
      if (answer.does !== 'url') return { b64_json: image.toString('base64') };
      const name = `/files/${files.size + 1}.png`;
      files.set(name, image);
      return { url: answer.at ?? origin.origin + name };
    };
    const data = answer.does === 'duplicate' ? [one(), one()] : [one()];
    const text = JSON.stringify({
      created: 1_781_500_000,
      data,
      ...((answer.does !== 'image' || answer.usage !== false) && {
        usage: { input_tokens: 21, output_tokens: 1056, total_tokens: 1077, input_tokens_details: { text_tokens: 21 } },
      }),
    });
    return answer.does === 'bad_base64' ? text.replace(/(b64_json":".{20})./, '$1*') : text;
  }

  const origin = await startOrigin((request, response) => {
    const file = files.get(request.url ?? '');
    if (file) {
      if (request.headers.authorization !== undefined) return send(response, 400, '{}');
      response.writeHead(200, { 'content-type': 'image/png', 'content-length': file.length }).end(file);
      return;
    }
    const key = request.headers['idempotency-key'];
    const counted = typeof key === 'string' ? key : '';
    counts.set(counted, (counts.get(counted) ?? 0) + 1);
    readImageRequest(request, counts.get(counted) ?? 0)
      .then((read) => {
        requests.push(read);
        if (!/^\/v1\/images\/(?:generations|edits)$/.test(read.path)) return send(response, 404, '{}');
        if (options.apiKey !== undefined && read.authorization !== `Bearer ${options.apiKey}`) {
          const message = `Incorrect API key provided: ${read.authorization}.`;
          return sendError(response, { status: 401, code: 'invalid_api_key', message });
        }
        const missing = read.path.endsWith('edits') && read.files.length === 0 && !read.members.images;
        if (missing || read.prompt === '') return sendError(response, { status: 400 });
        return answerWith(read, response);
      })
      .catch((error: unknown) => {
        // A request that is no request of this format, or a client that left in the middle.
        if (!response.destroyed && !response.headersSent) send(response, 400, JSON.stringify({ error: String(error) }));
      });
  });

  return extendOrigin<ImageUpstream>(origin, {
    baseUrl: `${origin.origin}/v1`,
    get requests() {
      return requests;
    },
    calls: (key) => counts.get(key) ?? 0,
    get made() {
      return made;
    },
    behave(next) {
      behaviour = next;
      used = 0;
    },
    reset() {
      requests = [];
      counts.clear();
      behaviour = [];
      used = 0;
      made = 0;
    },
  });
}

function send(response: ServerResponse, status: number, body: string, contentType = 'application/json'): void {
  response.writeHead(status, { 'content-type': contentType, 'content-length': Buffer.byteLength(body) }).end(body);
}

function sendError(response: ServerResponse, error: OpenaiError): void {
  const { status, headers, body } = openaiError(error);
  response.writeHead(status, { 'content-length': Buffer.byteLength(body), ...headers }).end(body);
}

/** @throws Error where the body is neither JSON nor a form. */
async function readImageRequest(request: IncomingMessage, count: number): Promise<ImageUpstreamRequest> {
  const contentType = request.headers['content-type'] ?? '';
  const { members, files } = contentType.startsWith('multipart/form-data')
    ? await readForm(request)
    : { members: JSON.parse((await buffer(request)).toString()) as Record<string, unknown>, files: [] };
  const key = request.headers['idempotency-key'];
  const { traceparent } = request.headers;
  return {
    path: request.url ?? '',
    ...(typeof key === 'string' && { key }),
    ...(request.headers.authorization !== undefined && { authorization: request.headers.authorization }),
    ...(typeof traceparent === 'string' && { traceparent }),
    contentType,
    prompt: String(members.prompt ?? ''),
    members,
    files,
    count,
  };
}
