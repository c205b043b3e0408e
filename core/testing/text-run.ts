import assert from 'node:assert';
import type { TextModel, TextProvider, TextReply } from '../contracts/index.js';
import { isGatewayError } from '../runtime/index.js';
import { createFakeHttp, type FakeHttp, type FakeReply, type SentRequest } from './fake-http.js';
import { setUpPlugin, type TestSetup, textProviderOf } from './setup.js';
import { answerContent, requestBody, type Wanted } from './text-contents.js';
import type { TextContent, TextProviderDefinition } from './text-definition.js';

export interface TextRun {
  setup: TestSetup;
  provider: TextProvider;
  reply?: TextReply;
  /** The whole body as it was read. */
  body: Buffer;
  error?: unknown;
}

export interface RunOptions {
  http: FakeHttp;
  /** Default: the first. */
  model?: string;
  signal?: AbortSignal;
  /** Called with each chunk of the body. */
  onPiece?(): void;
  /** Read at most this many chunks, then disconnect. */
  pieces?: number;
  /** The caller's body as it is passed. */
  body?: Buffer;
}

export const WANTED: Wanted = { route: 'chat_completions', stream: true, words: 'A lighthouse in the fog' };

/** One call of a plugin that was set up for it alone, including reading its body. */
export async function runText(
  definition: TextProviderDefinition,
  wanted: Wanted,
  options: RunOptions,
): Promise<TextRun> {
  const { http, onPiece, pieces = Number.POSITIVE_INFINITY, signal = new AbortController().signal } = options;
  const setup = await setUpPlugin({ plugin: definition.plugin, options: definition.options, http });
  const provider = textProviderOf(setup);
  const model = options.model ?? firstModel(provider).id;
  const body = options.body ?? requestBody(wanted, model);
  const { route, stream } = wanted;
  const run: TextRun = { setup, provider, body: Buffer.alloc(0) };
  try {
    const parsed = JSON.parse(body.toString());
    run.reply = await provider.send({ route, stream, model, body, parsed, signal });
    run.body = await readBody(run.reply, pieces, onPiece, (read) => {
      run.body = read;
    });
  } catch (error) {
    run.error = error;
  }
  await setup.contributions.dispose?.();
  return run;
}

export async function readBody(
  { body }: TextReply,
  pieces = Number.POSITIVE_INFINITY,
  onPiece = () => {},
  keep: (read: Buffer) => void = () => {},
): Promise<Buffer> {
  let read: Buffer = Buffer.alloc(0);
  let count = 0;
  for await (const piece of body) {
    read = Buffer.concat([read, piece]);
    keep(read);
    onPiece();
    if (++count >= pieces) break;
  }
  return read;
}

export function firstModel(provider: TextProvider): TextModel {
  const [model] = provider.models;
  assert(model, 'there are no models');
  return model;
}

/** An upstream that answers every request; if the definition has none, a network that fails. */
export function willingUpstream({ upstream }: TextProviderDefinition, wanted: Wanted, pieceLength?: number): FakeHttp {
  if (!upstream) return createFakeHttp([{ fail: 'connection' }]);
  const content = answerContent(wanted, upstream.model);
  return createFakeHttp((request) => ({
    ...answerOf(upstream, request, content),
    ...(pieceLength && { pieceLength }),
  }));
}

export function answerOf(
  upstream: NonNullable<TextProviderDefinition['upstream']>,
  request: SentRequest,
  content: TextContent,
): Extract<FakeReply, { body?: unknown }> {
  if (upstream.answer) return upstream.answer(request, content);
  return { headers: { 'content-type': content.contentType }, body: content.bytes };
}

export function describeOutcome({ reply, error }: Pick<TextRun, 'reply' | 'error'>): string {
  if (isGatewayError(error)) return `${error.code}: ${error.message}`;
  if (error !== undefined) return String(error);
  return reply ? 'an answer' : 'nothing';
}
