import { drawRandomBytes, type Usage } from 'mediagate';

export type StopReason = 'end_turn' | 'max_tokens' | 'stop_sequence' | 'tool_use' | 'refusal';

/** A piece of an answer, when it begins. */
export type Block = { type: 'text' } | { type: 'thinking' } | { type: 'tool_use'; id: string; name: string };

/** Why an answer ended. */
export interface MessageEnd {
  reason: StopReason;
  /** With `stop_sequence`. */
  sequence?: string;
}

const ID_BYTES = 18;

/** Members of `message` that are there from the beginning. */
export function newMessage(model: string) {
  return {
    id: newId('msg'),
    type: 'message',
    role: 'assistant',
    model,
    container: null,
    diagnostics: null,
  } as const;
}

/** A call of a tool, as far as the model tells of it. Undefined where it does not say which tool that is. */
export function toolUseOf(id: unknown, name: unknown): Block | undefined {
  if (typeof name !== 'string' || name === '') return undefined;
  // No two calls of a conversation have the same one.
  return { type: 'tool_use', id: typeof id === 'string' && id !== '' ? id : newId('toolu'), name };
}

function newId(prefix: string): string {
  return `${prefix}_${drawRandomBytes(ID_BYTES).toString('base64url')}`;
}

/** Members that tell how it ended; of one that has not, null all of them. */
export function describeEnd(end: MessageEnd | undefined) {
  const refusal = { type: 'refusal', category: null, explanation: null };
  return {
    stop_reason: end?.reason ?? null,
    stop_sequence: end?.sequence ?? null,
    stop_details: end?.reason === 'refusal' ? refusal : null,
  };
}

/** What is read from a cache is told beside the input, not in it. */
export function describeUsage(usage: Usage | undefined) {
  const { inputTokens = 0, outputTokens = 0, cachedTokens = 0, reasoningTokens } = usage ?? {};
  return {
    input_tokens: Math.max(0, inputTokens - cachedTokens),
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
    output_tokens: outputTokens,
    output_tokens_details: reasoningTokens === undefined ? null : { thinking_tokens: reasoningTokens },
    server_tool_use: null,
  };
}

/** With members of whole messages alone. */
export function describeWholeUsage(usage: Usage | undefined) {
  return {
    ...describeUsage(usage),
    cache_creation: null,
    inference_geo: null,
    service_tier: null,
    speed: null,
  };
}

/** A block as it begins. */
export function describeBlock(block: Block) {
  if (block.type === 'text') return { type: 'text', text: '', citations: null };
  // Nothing that could be sent back: what a model thought is not asked for again.
  if (block.type === 'thinking') return { type: 'thinking', thinking: '', signature: '' };
  return { type: 'tool_use', id: block.id, name: block.name, input: {}, caller: { type: 'direct' } };
}
