/*
 * Estimates what a text request used if its upstream does not report it. A complete answer costs its counted tokens. An
 * answer that ended early (the client left or read nothing for two minutes, the upstream broke off or was silent for
 * too long, the key was revoked) costs the input, reported or counted, and the larger of the reported output and the
 * output received so far. Output that is not visible while it is written (no stream, or hidden thoughts) costs at least
 * the elapsed time times the speed of the model. A stream that never began costs nothing. Work that its upstream
 * continues alone costs the whole reservation, or without one its input and the longest output. The estimate never
 * exceeds the reservation. `reserved` charges the whole reservation instead, for vendors that bill on after a hang-up.
 */

import type { TextCall, TextModel, Usage } from '../contracts/index.js';
import { type PromptSample, samplePrompt, type TextSample } from './counting/samples.js';
import type { TokenCounter } from './counting/tokens.js';
import type { EstimatedAnswer } from './exchange.js';
import { allOf, type ReservedTokens } from './requests.js';

/** How a request that ended early is charged: what it used, or all that was reserved. */
export type AbortCharge = 'used' | 'reserved';

/** Tokens that a model without a stated speed makes in a second. */
const OUTPUT_TOKENS_PER_SECOND = 100;

export interface ChargedRequest {
  /** The texts of the request, or a sample of them. */
  prompt: { sample: PromptSample } | { parsed: TextCall['parsed'] };
  model: Pick<TextModel, 'outputTokensPerSecond'>;
  /** Whether its tokens are only counted, which uses none. */
  countsOnly: boolean;
  /** Whether the request has output: embeddings have none. */
  isWriting: boolean;
  stream: boolean;
  /** Whether the model thinks, and the stream does not show it. */
  hidesThoughts: boolean;
  /** Default: no budget limits its tokens. */
  reserved?: ReservedTokens | undefined;
  /** Tokens of the files in it, if they were counted. */
  fileTokens?: number | undefined;
  /** Maximum output tokens of the request, or of the model. */
  maxOutput: number;
  abortCharge: AbortCharge;
}

/** Never rejects. @returns Undefined if nothing was used. */
export async function estimateUsage(
  tokens: Pick<TokenCounter, 'count'>,
  request: ChargedRequest,
  sample: TextSample,
  answer: EstimatedAnswer,
): Promise<Usage | undefined> {
  const { reserved, isWriting, stream, maxOutput, abortCharge } = request;
  const { continues, complete = false, reported, hasAnswered } = answer;
  if (request.countsOnly) return undefined;
  if (!complete && reserved && (continues || abortCharge === 'reserved')) return allOf(reserved);
  if (!complete && !continues && stream && !hasAnswered) return undefined;
  const input = reported?.inputTokens ?? (await inputTokens(tokens, request));
  const seen = isWriting ? await tokens.count(sample) : 0;
  const written = isWriting ? writtenTokens(request, { ...answer, seen, isBlank: sample.text === '' }) : 0;
  const output = Math.min(Math.max(continues ? maxOutput : 0, written), reserved?.output ?? Number.MAX_SAFE_INTEGER);
  const { outputTokens: counted = 0, ...details } = reported ?? {};
  return { ...details, ...allOf({ input, output: Math.max(counted, output) }) };
}

async function inputTokens(
  tokens: Pick<TokenCounter, 'count'>,
  { prompt, isWriting, fileTokens = 0, reserved }: ChargedRequest,
): Promise<number> {
  const read = 'sample' in prompt ? prompt.sample : samplePrompt(prompt.parsed);
  const counted = (await tokens.count(read)) + (isWriting ? 0 : read.listedTokens) + fileTokens;
  return Math.min(counted, reserved?.input ?? counted);
}

function writtenTokens(
  { model, stream, hidesThoughts, maxOutput, reserved }: ChargedRequest,
  { complete, hasAnswered, seconds, seen, isBlank }: EstimatedAnswer & { seen: number; isBlank: boolean },
): number {
  const isVisible = stream && !hidesThoughts && !(hasAnswered && isBlank);
  if (complete || isVisible) return seen;
  const { outputTokensPerSecond: speed = OUTPUT_TOKENS_PER_SECOND } = model;
  return Math.max(seen, Math.min(Math.ceil(seconds * speed), reserved?.output ?? maxOutput));
}
