/*
 * The order of messages that vendors of chats demand. Templates of many models take one system message, at the beginning.
 * OpenAI and DeepSeek refuse a chat in which something stands between a tool call and its results. So all texts of the
 * system are joined in front, and each result is moved behind the message with its call.
 *
 * Thoughts: upstreams with DeepSeek's rule refuse the second request of a tool loop if the model's thoughts are missing in
 * it; others refuse thoughts elsewhere. So they are sent in turns with tool calls alone.
 */

import type { JsonRecord } from './values.js';

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

/** Writes the messages of a conversation in its order. Texts and calls of the model that follow each other are one message. */
export class DraftWriter {
  readonly #drafts: DraftMessage[] = [];
  #spoken: (DraftMessage & { content: string | null; tool_calls?: JsonRecord[] }) | undefined;
  #thought = '';
  #waiting: JsonRecord[] = [];

  addSystem(text: string): void {
    this.#drafts.push({ role: 'system', content: text });
  }

  /** Ends what the model said and thought before. */
  addUser(content: unknown): void {
    this.#spoken = undefined;
    this.#thought = '';
    this.#showPictures();
    this.#drafts.push({ role: 'user', content });
  }

  /** @param separator Between it and an earlier text of the same message. */
  addText(text: string, separator: string): void {
    const message = this.#speak();
    message.content = message.content === null ? text : message.content + separator + text;
  }

  /** What the model thought before its next text or call; not empty. */
  addThought(text: string): void {
    this.#thought = this.#thought === '' ? text : `${this.#thought}\n\n${text}`;
  }

  /** @param args As JSON. */
  addCall(id: unknown, name: string, args: string): void {
    const message = this.#speak();
    message.tool_calls ??= [];
    message.tool_calls.push({ id, type: 'function', function: { name, arguments: args } });
  }

  /** @param pictures Parts that are no text, which a result cannot have: they follow in a message of the user. */
  addResult(id: unknown, text: string, pictures: readonly JsonRecord[]): void {
    this.#spoken = undefined;
    this.#drafts.push({ role: 'tool', tool_call_id: id, content: text });
    this.#waiting.push(...pictures);
  }

  end(): DraftMessage[] {
    this.#showPictures();
    return this.#drafts;
  }

  #showPictures(): void {
    if (this.#waiting.length > 0) this.#drafts.push({ role: 'user', content: this.#waiting });
    this.#waiting = [];
  }

  #speak(): DraftMessage & { content: string | null; tool_calls?: JsonRecord[] } {
    this.#showPictures();
    // Thoughts begin another message: each request of a tool loop had its own.
    if (!this.#spoken || (this.#thought !== '' && this.#spoken.tool_calls)) {
      this.#spoken = { role: 'assistant', content: null };
      this.#drafts.push(this.#spoken);
    }
    const spoken = this.#spoken;
    if (this.#thought !== '') spoken.thought = spoken.thought ? `${spoken.thought}\n\n${this.#thought}` : this.#thought;
    this.#thought = '';
    return spoken;
  }
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
