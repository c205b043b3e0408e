import type { AudioExchange, AudioOperation, Gateway } from 'mediagate';
import { nameIgnored } from './ignored-params.js';
import type { createAuth } from './middleware/auth.js';
import type { BodyBudget } from './middleware/body-budget.js';
import type { RequestContext } from './middleware/request-state.js';
import type { UsageDesk } from './usage.js';

/** What the routes of audio models share. */
export interface AudioRouteOptions {
  gateway: Gateway;
  usage: UsageDesk;
  auth: ReturnType<typeof createAuth>;
  /** Of JSON. */
  bodies: BodyBudget;
  /** Of forms, whose sounds are on the disk. */
  uploads: BodyBudget;
  /** Bytes of one sound that is sent. */
  audioMaxBytes: number;
}

export interface AudioWork<Answer> {
  route: string;
  model: string;
  operation: AudioOperation;
  /** What is to be spoken. */
  input?: string;
  /** Names of what the request has and nobody looks at. Default: none. */
  ignored?: readonly string[];
  ask(): AudioExchange<Answer & { ignored?: readonly string[] }>;
  /** Answers the client. */
  send(answer: Answer): Promise<void> | void;
}

/** Audio is not counted in tokens; but a budget that is used up is used up. */
const LEAST_TOKENS = 1;

/** Lets a request in whose fields are good, and takes down what it used. */
export async function workOnAudio<Answer>(
  context: RequestContext,
  { gateway, usage }: AudioRouteOptions,
  { route, model, operation, input, ignored = [], ask, send }: AudioWork<Answer>,
): Promise<void> {
  const { res: response } = context;
  const { standIn } = gateway.audio.match(model, operation, input);
  await usage.admitted(context, { route, model, tokens: LEAST_TOKENS }, async (work) => {
    const exchange = ask();
    work.uses(exchange.ended);
    const answer = await exchange.answer;
    if (standIn !== undefined) response.setHeader('x-mediagate-stand-in', standIn);
    nameIgnored(context, [...ignored, ...(answer.ignored ?? [])]);
    await send(answer);
  });
}
