/*
 * The requests of the chat: the body for a path of messages, the answer as it arrives, its tokens and cost, and the
 * same request as code. Thoughts come under two names. The cost of a streamed answer is known once it is logged, some
 * seconds after its end.
 */

import { codeOf, type Language } from '../../docs/examples.js';
import {
  brokenOff,
  fieldAt,
  listAt,
  numberAt,
  pause,
  play,
  playJson,
  RequestProblem,
  readEventData,
  textAt,
} from '../requests.js';
import { pageLanguage } from '../texts.js';
import type { Attachment, Turn, TurnUsage } from './chat-conversation.js';

const PATH = '/v1/chat/completions';

export interface ChatSettings {
  model: string;
  system: string;
  /** Texts of numbers; empty for what the model is set to. */
  temperature: string;
  maximum: string;
  effort: string;
}

export interface ChatBody extends Record<string, unknown> {
  model: string;
  messages: readonly unknown[];
}

/** The body of a request, without the fields of a stream. */
export function bodyOf(path: readonly Turn[], settings: ChatSettings): ChatBody {
  const { model, system, temperature, maximum, effort } = settings;
  return {
    model,
    messages: [...(system.trim() === '' ? [] : [{ role: 'system', content: system.trim() }]), ...path.map(messageOf)],
    ...(temperature !== '' && { temperature: Number(temperature) }),
    ...(maximum !== '' && { max_tokens: Number(maximum) }),
    ...(effort !== '' && { reasoning_effort: effort }),
  };
}

function messageOf({ role, text, files = [] }: Turn): unknown {
  const parts = files.flatMap(partOf);
  if (parts.length === 0) return { role, content: text };
  return { role, content: [...parts, ...(text === '' ? [] : [{ type: 'text', text }])] };
}

function partOf({ name, type, data }: Attachment): unknown[] {
  if (data === undefined) return [];
  if (type.startsWith('image/')) return [{ type: 'image_url', image_url: { url: data } }];
  return [{ type: 'file', file: { filename: name, file_data: data } }];
}

/** One step of an answer. */
export interface AnswerStep {
  text?: string;
  thought?: string;
  usage?: TurnUsage;
  /** Why the model stopped. */
  finish?: string;
}

export interface ArrivingAnswer {
  requestId: string | undefined;
  /** Whether a mock answers. */
  isMock: boolean;
  steps: AsyncIterable<AnswerStep>;
}

/** Sends a request, and returns when the answer begins. */
export async function sendChat(body: ChatBody, signal: AbortSignal): Promise<ArrivingAnswer> {
  const json = { ...body, stream: true, stream_options: { include_usage: true } };
  const response = await play(PATH, { method: 'POST', json, signal });
  return {
    requestId: response.headers.get('x-request-id') ?? undefined,
    isMock: response.headers.has('x-mediagate-stand-in'),
    steps: readSteps(response, signal),
  };
}

async function* readSteps({ body }: Response, signal: AbortSignal): AsyncGenerator<AnswerStep> {
  if (!body) return;
  for await (const data of readEventData(body, signal)) {
    if (data === '[DONE]') return;
    const event: unknown = JSON.parse(data);
    if (fieldAt(event, 'error')) {
      throw new RequestProblem(
        textAt(event, 'error.message') ?? brokenOff().message,
        textAt(event, 'error.code') ?? 'unknown',
        200,
      );
    }
    yield stepOf(event);
  }
  throw brokenOff();
}

function stepOf(event: unknown): AnswerStep {
  const delta = (name: string) => textAt(event, `choices.0.delta.${name}`);
  const input = numberAt(event, 'usage.prompt_tokens');
  const reasoning = numberAt(event, 'usage.completion_tokens_details.reasoning_tokens');
  return {
    text: delta('content'),
    thought: delta('reasoning_content') ?? delta('reasoning'),
    finish: textAt(event, 'choices.0.finish_reason'),
    ...(input !== undefined && {
      usage: {
        input,
        output: numberAt(event, 'usage.completion_tokens') ?? 0,
        ...(reasoning !== undefined && reasoning > 0 && { reasoning }),
      },
    }),
  };
}

/** Requests are logged within that time. */
const LOGGED_MS = 2_500;
const TRIES = 3;

/** Tokens and cost of a request as they were logged. Undefined if they are not known. */
export async function loggedUse(requestId: string): Promise<{ usage?: TurnUsage; cost?: string } | undefined> {
  for (let attempt = 0; attempt < TRIES; attempt += 1) {
    await pause(LOGGED_MS);
    try {
      const list = await playJson(`/v1/usage/requests?request_id=${encodeURIComponent(requestId)}`);
      const [row] = listAt(list, 'data');
      if (row === undefined) continue;
      const input = numberAt(row, 'input_tokens');
      const cost = numberAt(row, 'cost');
      return {
        ...(input !== undefined && { usage: { input, output: numberAt(row, 'output_tokens') ?? 0 } }),
        ...(cost !== undefined && { cost: costText(cost, textAt(list, 'currency') ?? 'USD') }),
      };
    } catch {
      return undefined;
    }
  }
  return undefined;
}

/** With as many digits as a part of a cent needs. */
export function costText(cost: number, currency: string): string {
  return new Intl.NumberFormat(pageLanguage(), { style: 'currency', currency, maximumFractionDigits: 6 }).format(cost);
}

/** The request as a program sends it. @param baseUrl Address of the gateway. */
export function codeOfChat(body: ChatBody, language: Language, baseUrl: string): string {
  const request = {
    method: 'POST',
    url: baseUrl + PATH,
    secret: 'MEDIAGATE_API_KEY',
    form: undefined,
    file: undefined,
  };
  return codeOf({ ...request, json: shortened(body) }, language);
}

/** Contents of files would hide the rest. */
function shortened(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/^(data:[^,]{1,100},).{60,}$/s, '$1…');
  if (Array.isArray(value)) return value.map(shortened);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, shortened(field)]));
}
