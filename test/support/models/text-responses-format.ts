/** Responses in OpenAI's format, whole and streamed. */

import type { ModelAnswer } from './text-answer.js';
import { type StreamEvent, splitInThree } from './text-chat-format.js';

type Members = Readonly<Record<string, unknown>>;

/** How a stream ends: well or cut short as the answer has it, or with a failure of the model. */
export type ResponsesEnd = 'regular' | 'failed' | 'error' | 'nested_error';

export interface ResponsesStreamOptions {
  end: ResponsesEnd;
  withUsage: boolean;
  obfuscation: boolean;
}

const FAILURE = { code: 'server_error', message: 'The model broke down (req_0a1b2c3d4e5f).' };

export function responseId(answer: ModelAnswer): string {
  return `resp_${answer.created}`;
}

/** `response` as it is in the end, or while it is made. */
export function responseObject(answer: ModelAnswer, body: Members, status: string, withUsage = true): object {
  const isEnded = status === 'completed' || status === 'incomplete';
  const reason = answer.stop === 'length' ? 'max_output_tokens' : 'content_filter';
  return {
    id: responseId(answer),
    object: 'response',
    created_at: answer.created,
    status,
    background: body.background ?? false,
    error: status === 'failed' ? FAILURE : null,
    incomplete_details: status === 'incomplete' ? { reason } : null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    model: answer.model,
    output: isEnded ? outputItems(answer) : [],
    parallel_tool_calls: true,
    previous_response_id: body.previous_response_id ?? null,
    reasoning: { effort: 'medium', summary: null, ...(body.reasoning as object | undefined) },
    store: body.store ?? true,
    temperature: 1,
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: body.tool_choice ?? 'auto',
    tools: body.tools ?? [],
    top_p: 1,
    truncation: 'disabled',
    usage: isEnded && withUsage ? responsesUsage(answer) : null,
    user: null,
    metadata: body.metadata ?? {},
  };
}

export function finalStatus({ stop, toolCalls }: ModelAnswer): 'completed' | 'incomplete' {
  return stop === 'stop' || toolCalls.length > 0 ? 'completed' : 'incomplete';
}

/** The events of a stream, numbered. */
export function responsesEvents(answer: ModelAnswer, body: Members, options: ResponsesStreamOptions): StreamEvent[] {
  const about = (type: string, status: string, withUsage = options.withUsage) => ({
    type,
    response: responseObject(answer, body, status, withUsage),
  });
  const padding = options.obfuscation ? { obfuscation: 'x'.repeat(11) } : {};
  const items = outputItems(answer).flatMap((item, index) => itemEvents(answer, item, index, padding));
  const status = finalStatus(answer);
  const broken = { message: FAILURE.message, code: FAILURE.code, param: null };
  const ends: Readonly<Record<ResponsesEnd, Members>> = {
    regular: about(`response.${status}`, status),
    failed: about('response.failed', 'failed'),
    error: { type: 'error', ...broken },
    nested_error: { type: 'error', error: { type: 'server_error', ...broken } },
  };
  const events: Members[] = [
    about('response.created', 'in_progress'),
    about('response.in_progress', 'in_progress'),
    ...(options.end === 'regular' ? items : items.slice(0, Math.ceil(items.length / 2))),
    ends[options.end],
  ];
  return events.map(({ type, ...members }, number) => ({
    event: String(type),
    data: { type, sequence_number: number, ...members },
  }));
}

export function responsesUsage({ usage }: ModelAnswer): object {
  return {
    input_tokens: usage.input,
    input_tokens_details: { cached_tokens: usage.cached },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: usage.input + usage.output,
  };
}

interface OutputItem {
  id: string;
  type: 'reasoning' | 'message' | 'function_call';
  [member: string]: unknown;
}

function outputItems(answer: ModelAnswer): OutputItem[] {
  const { created } = answer;
  const thought = { type: 'summary_text', text: answer.reasoning.join('') };
  const said = { type: 'output_text', annotations: [], logprobs: [], text: answer.pieces.join('') };
  const message: OutputItem = {
    id: `msg_${created}`,
    type: 'message',
    status: finalStatus(answer),
    content: [said],
    role: 'assistant',
  };
  return [
    ...(answer.reasoning.length > 0 ? [{ id: `rs_${created}`, type: 'reasoning' as const, summary: [thought] }] : []),
    ...answer.toolCalls.map((call, index) => ({
      id: `fc_${created}_${index}`,
      type: 'function_call' as const,
      status: 'completed',
      arguments: call.arguments,
      call_id: call.id,
      name: call.name,
      ...(call.namespace !== undefined && { namespace: call.namespace }),
    })),
    ...(answer.toolCalls.length === 0 ? [message] : []),
  ];
}

function itemEvents(answer: ModelAnswer, item: OutputItem, index: number, padding: object): Members[] {
  const at = { item_id: item.id, output_index: index };
  const begun = (empty: object) => ({
    type: 'response.output_item.added',
    output_index: index,
    item: { ...item, ...empty },
  });
  const done = { type: 'response.output_item.done', output_index: index, item };
  if (item.type === 'function_call') {
    const type = 'response.function_call_arguments';
    const text = String(item.arguments);
    return [
      begun({ status: 'in_progress', arguments: '' }),
      ...splitInThree(text).map((delta) => ({ type: `${type}.delta`, ...at, delta, ...padding })),
      { type: `${type}.done`, ...at, arguments: text, name: item.name },
      done,
    ];
  }
  const isThought = item.type === 'reasoning';
  const pieces = isThought ? answer.reasoning : answer.pieces;
  const text = pieces.join('');
  const place = { ...at, ...(isThought ? { summary_index: 0 } : { content_index: 0 }) };
  const part = isThought
    ? { type: 'summary_text', text }
    : { type: 'output_text', annotations: [], logprobs: [], text };
  const [partName, textName] = isThought
    ? ['response.reasoning_summary_part', 'response.reasoning_summary_text']
    : ['response.content_part', 'response.output_text'];
  const logprobs = isThought ? {} : { logprobs: [] };
  return [
    begun(isThought ? { summary: [] } : { status: 'in_progress', content: [] }),
    { type: `${partName}.added`, ...place, part: { ...part, text: '' } },
    ...pieces.map((delta) => ({ type: `${textName}.delta`, ...place, delta, ...logprobs, ...padding })),
    { type: `${textName}.done`, ...place, text, ...logprobs },
    { type: `${partName}.done`, ...place, part },
    done,
  ];
}
