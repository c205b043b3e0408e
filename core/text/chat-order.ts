/*
 * The order of messages that vendors of chats demand. Templates of many models take one system message, at the beginning.
 * OpenAI and DeepSeek refuse a chat in which something stands between a tool call and its results. So all texts of the
 * system are joined in front, and each result is moved behind the message with its call.
 *
 * Thoughts: upstreams with DeepSeek's rule refuse the second request of a tool loop if the model's thoughts are missing in
 * it; others refuse thoughts elsewhere. So they are sent in turns with tool calls alone.
 */

import type { JsonRecord } from './chat-values.js';

/** Field of an assistant's message that has its thoughts; `none` if the upstream takes no thoughts. */
export type ReasoningField = 'reasoning_content' | 'reasoning' | 'none';

/** A message on its way to a chat; `thought` becomes the upstream's field, or is dropped. */
export interface DraftMessage {
  role: string;
  content?: unknown;
  tool_calls?: readonly JsonRecord[] | undefined;
  tool_call_id?: unknown;
  thought?: string | undefined;
}

/**
 * Messages in the order that all vendors accept. Contents of the system are texts.
 * @param field If it is given, the upstream demands it: a message with calls whose thoughts the client dropped has an empty
 *   text. Default: `reasoning_content`, where there are thoughts.
 */
export function arrangeChat(drafts: readonly DraftMessage[], field?: ReasoningField): JsonRecord[] {
  const system = drafts.filter(({ role }) => role === 'system').map(({ content }) => content);
  const others = behindTheirCalls(drafts.filter(({ role }) => role !== 'system'));
  const messages = withThoughts(others, field);
  return system.length > 0 ? [{ role: 'system', content: system.join('\n\n') }, ...messages] : messages;
}

function behindTheirCalls(drafts: readonly DraftMessage[]): DraftMessage[] {
  /** Results that are placed already. */
  const placed = new Set<DraftMessage>();
  const results = new Map<unknown, DraftMessage[]>();
  for (const draft of drafts) {
    if (draft.role !== 'tool') continue;
    const same = results.get(draft.tool_call_id);
    if (same) same.push(draft);
    else results.set(draft.tool_call_id, [draft]);
  }
  return drafts.flatMap((draft) => {
    if (placed.has(draft)) return [];
    const own = (draft.tool_calls ?? []).flatMap(({ id }) => {
      const result = results.get(id)?.shift();
      return result && !placed.has(result) ? [result] : [];
    });
    for (const result of own) placed.add(result);
    return [draft, ...own];
  });
}

/** A turn lasts from one message of the user to the next. */
function withThoughts(drafts: readonly DraftMessage[], field: ReasoningField | undefined): JsonRecord[] {
  const name = field ?? 'reasoning_content';
  const messages: JsonRecord[] = [];
  let turn: DraftMessage[] = [];
  const endTurn = () => {
    const hasCalls = turn.some(({ tool_calls: calls }) => calls !== undefined && calls.length > 0);
    for (const { thought: known, ...message } of turn) {
      const thought = known ?? (field !== undefined && message.tool_calls ? '' : undefined);
      messages.push({ ...message, ...(hasCalls && thought !== undefined && name !== 'none' && { [name]: thought }) });
    }
    turn = [];
  };
  for (const draft of drafts) {
    if (draft.role === 'user') endTurn();
    turn.push(draft);
  }
  endTurn();
  return messages;
}
