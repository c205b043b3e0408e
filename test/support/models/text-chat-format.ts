/** Chats in OpenAI's format, whole and streamed. */

import type { ModelAnswer } from './text-answer.js';

/** One event of a stream; chat completions name none. */
export interface StreamEvent {
  event?: string;
  /** JSON, or the word that ends a stream. */
  data: object | string;
}

/** Where a stream says what it used. `asked`: as the vendor does; `with_last`: beside the reason it stopped. */
export type UsagePlace = 'asked' | 'always' | 'with_last' | 'never';

export interface ChatStreamOptions {
  usage: UsagePlace;
  /** `stream_options.include_usage` of the request. */
  includeUsage: boolean;
  /** Padding against those who guess words by the length of packets. */
  obfuscation: boolean;
}

/** `chat.completion` */
export function chatCompletion(answer: ModelAnswer, usage: UsagePlace): object {
  const calls = answer.toolCalls.map((call) => ({ id: call.id, type: 'function', function: functionOf(call) }));
  const message = {
    role: 'assistant',
    content: calls.length > 0 ? null : answer.pieces.join(''),
    refusal: null,
    annotations: [],
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  return {
    ...headOf(answer, 'chat.completion'),
    choices: [{ index: 0, message, logprobs: null, finish_reason: finishOf(answer) }],
    ...(usage !== 'never' && { usage: chatUsage(answer) }),
    service_tier: 'default',
    system_fingerprint: 'fp_0123456789',
  };
}

/** `chat.completion.chunk` after another, and `[DONE]`. */
export function chatEvents(answer: ModelAnswer, options: ChatStreamOptions): StreamEvent[] {
  const { usage, includeUsage, obfuscation } = options;
  const ends = usage === 'always' || (usage === 'asked' && includeUsage);
  let length = 0;
  const chunk = (choices: readonly object[], more: object = {}): StreamEvent => ({
    data: {
      ...headOf(answer, 'chat.completion.chunk'),
      service_tier: 'default',
      choices,
      ...(includeUsage && { usage: null }),
      ...more,
      ...(obfuscation && { obfuscation: 'x'.repeat(8 + (++length % 7)) }),
    },
  });
  const delta = (change: object, finish: string | null = null) => [
    { index: 0, delta: change, logprobs: null, finish_reason: finish },
  ];
  return [
    chunk(delta({ role: 'assistant', content: answer.toolCalls.length > 0 ? null : '', refusal: null })),
    ...answer.toolCalls.flatMap((call, index) => [
      chunk(
        delta({
          tool_calls: [{ index, id: call.id, type: 'function', function: functionOf({ ...call, arguments: '' }) }],
        }),
      ),
      ...splitInThree(call.arguments).map((text) =>
        chunk(delta({ tool_calls: [{ index, function: { arguments: text } }] })),
      ),
    ]),
    ...answer.pieces.map((content) => chunk(delta({ content }))),
    chunk(delta({}, finishOf(answer)), usage === 'with_last' ? { usage: chatUsage(answer) } : {}),
    ...(ends ? [chunk([], { usage: chatUsage(answer) })] : []),
    { data: '[DONE]' },
  ];
}

function chatUsage({ usage }: ModelAnswer): object {
  return {
    prompt_tokens: usage.input,
    completion_tokens: usage.output,
    total_tokens: usage.input + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cached, audio_tokens: 0 },
    completion_tokens_details: {
      reasoning_tokens: usage.reasoning,
      audio_tokens: 0,
      accepted_prediction_tokens: 0,
      rejected_prediction_tokens: 0,
    },
  };
}

/** Three pieces of about the same length, which together are the text. */
export function splitInThree(text: string): string[] {
  const third = Math.ceil(text.length / 3);
  return [text.slice(0, third), text.slice(third, 2 * third), text.slice(2 * third)].filter((piece) => piece !== '');
}

function headOf({ created, model }: ModelAnswer, object: string): object {
  return { id: `chatcmpl-${created}`, object, created, model };
}

function functionOf(call: { name: string; arguments: string }): object {
  return { name: call.name, arguments: call.arguments };
}

function finishOf({ stop, toolCalls }: ModelAnswer): string {
  return toolCalls.length > 0 ? 'tool_calls' : stop;
}
