/*
 * Converts a message into a request of the upstream's format. The code depends on nothing but its parameters, so that a
 * worker thread can convert a large request. The thread returns the body, a sample of the prompt and the short fields;
 * the long fields stay in the thread.
 */

import type { TextRoute } from '../../../core/contracts/index.js';
import type { JsonRecord } from '../../../core/runtime/index.js';
import {
  markNumbers,
  type PromptSample,
  type ReasoningField,
  restoreNumbers,
  samplePrompt,
  type ToolNames,
} from '../../../core/text/index.js';
import { decodeCounted, decodeMessage, type MessageRequest } from './request.js';
import { encodeChat, encodeResponses, encodeResponsesInput, type Thinking } from './upstream-requests.js';

/** The format of the model. */
export interface HowToEncode {
  route: TextRoute;
  efforts: readonly string[];
  reasoningField?: ReasoningField | undefined;
  /** Whether tokens are only counted. */
  counts: boolean;
}

/** @throws GatewayError as {@link decodeMessage} and {@link encodeChat}. */
export function encodeMessage(
  sent: JsonRecord,
  { route, efforts, reasoningField, counts }: HowToEncode,
): { request: MessageRequest; encoded: JsonRecord } {
  if (counts) {
    const request = decodeCounted(sent);
    const encoded = route === 'responses' ? encodeResponsesInput(request, efforts) : encodeChat(request, efforts);
    return { request, encoded };
  }
  const request = decodeMessage(sent);
  const encoded =
    route === 'responses' ? encodeResponses(request, efforts) : encodeChat(request, efforts, reasoningField);
  return { request, encoded };
}

/** What is known of a large request besides its body. */
export interface LargeRequest {
  /** Without the fields that the model reads. */
  parsed: JsonRecord;
  prompt: PromptSample;
  decoded: Pick<MessageRequest, 'stream' | 'stopSequences' | 'ignored'> & { thinking: Thinking };
  tools: ToolNames['tools'];
}

/** Fields that may be long, and of which the gateway needs the sample only. */
const LONG: ReadonlySet<string> = new Set(['input', 'instructions', 'messages', 'response_format', 'text', 'tools']);

export function encodeLarge(bytes: Buffer, how: HowToEncode): LargeRequest & { body: string } {
  const { request, encoded } = encodeMessage(JSON.parse(markNumbers(bytes.toString('utf8'))), how);
  const { stream, stopSequences, thinking, ignored, names } = request;
  const marked = JSON.stringify(encoded);
  const body = restoreNumbers(marked);
  const whole: JsonRecord = body === marked ? encoded : JSON.parse(body);
  const parsed = Object.fromEntries(Object.entries(whole).filter(([name]) => !LONG.has(name)));
  const decoded = { stream, stopSequences, thinking, ignored };
  return { body, parsed, prompt: samplePrompt(whole), decoded, tools: names.tools };
}

/** To encode large messages. */
export const LARGE_MESSAGE = { module: import.meta.url, name: 'encodeLarge', run: encodeLarge };
