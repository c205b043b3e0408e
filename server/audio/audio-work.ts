import type { AudioExchange, AudioOperation, Gateway } from 'mediagate';
import type { BodyBudget, RequestContext } from '../http/index.js';
import { nameIgnored } from '../http/index.js';
import type { AnswerDesk, KeyedRequest, OutgoingAnswer } from '../idempotency/index.js';
import type { createAuth } from '../keys/index.js';
import type { UsageDesk } from '../usage/index.js';

/** What the routes of audio models share. */
export interface AudioRouteOptions {
  gateway: Gateway;
  usage: UsageDesk;
  answers: AnswerDesk;
  auth: ReturnType<typeof createAuth>;
  /** Of JSON. */
  bodies: BodyBudget;
  /** Of forms, whose sounds are on the disk. */
  uploads: BodyBudget;
  /** Bytes of one sound that is sent. */
  audioMaxBytes: number;
}

export interface AudioWork<Answer> extends KeyedRequest {
  model: string;
  operation: AudioOperation;
  /** What is to be spoken. */
  input?: string;
  /** Names of what the request has and nobody looks at. Default: none. */
  ignored?: readonly string[];
  /** Asks the model, until the signal aborts. */
  ask(signal: AbortSignal): AudioExchange<Answer & { ignored?: readonly string[] }>;
  encode(answer: Answer): OutgoingAnswer;
}

/** Audio is not counted in tokens; but a budget that is used up is used up. */
const LEAST_TOKENS = 1;

/** Lets a request in whose fields are good, takes down what it used, and answers it; or gives the answer it had before. */
export async function workOnAudio<Answer>(
  context: RequestContext,
  { gateway, usage, answers }: AudioRouteOptions,
  { route, key, fingerprint, model, operation, input, ignored = [], ask, encode }: AudioWork<Answer>,
): Promise<void> {
  const { res: response } = context;
  const { standIn } = gateway.audio.match(model, operation, input);
  const request = { route, model, tokens: LEAST_TOKENS, outlivesClient: key !== undefined };
  await answers.answer(context, { route, key, fingerprint }, ({ signal, send }) =>
    usage.admitted(context, request, async (work) => {
      const exchange = ask(signal);
      work.uses(exchange.ended);
      const answer = await exchange.answer;
      if (standIn !== undefined) response.setHeader('x-mediagate-stand-in', standIn);
      nameIgnored(context, [...ignored, ...(answer.ignored ?? [])]);
      await send(encode(answer));
    }),
  );
}
