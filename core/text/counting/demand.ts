/*
 * Computes what a token budget must reserve for a request. Only here are the files of its body read, because that
 * costs a thread's time: requests without a token limit do not pay for it.
 */

import type { TextCall, TextModel } from '../../contracts/index.js';
import { demandOf, isWriting, type TokenDemand } from '../requests.js';
import { type PromptSample, samplePrompt } from './samples.js';
import type { TokenCounter } from './tokens.js';

/** A request whose tokens are to be known before it is sent. */
export interface CountedRequest {
  call: Pick<TextCall, 'route' | 'parsed' | 'body'>;
  model: TextModel;
  owner: string;
  /** The input of the model. Default: it is taken from the call. */
  sample?: PromptSample;
  /** Receives the tokens of its files. */
  fileTokens?: number;
}

/**
 * What a token budget must reserve for a request. Only here the files in its body are read: for callers whose tokens are
 * limited.
 * @throws GatewayError `unsupported_value` naming a file that cannot be read; `queue_full`.
 */
export async function demandFor(tokens: TokenCounter, request: CountedRequest): Promise<TokenDemand> {
  const { call, model, owner, sample: given } = request;
  const { route, parsed, body } = call;
  const sample = given ?? samplePrompt(parsed);
  const { namesFiles, holdsFiles } = sample;
  // A text among many has a token at each end, where a message of a chat has sixteen.
  const framed = isWriting(route) ? sample : { ...sample, messages: Math.ceil(sample.messages / 8) };
  const input = await tokens.countInput(framed);
  if (holdsFiles) request.fileTokens = await tokens.countFiles(body, owner);
  return demandOf(parsed, route, model, { input: input + (request.fileTokens ?? 0), namesFiles });
}
