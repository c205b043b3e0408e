/*
 * The text of the last message of a user in a request, in any of the formats that the routes take: messages of a chat,
 * items of a response, or a plain input.
 */

import { isRecord } from '../runtime/index.js';

/** Characters that are read at most. */
const MAX_TEXT = 4_000;

/** Its beginning; undefined if the last message of the user has no text. */
export function lastUserText(parsed: Readonly<Record<string, unknown>>): string | undefined {
  const { messages, input } = parsed;
  if (typeof input === 'string') return input.slice(0, MAX_TEXT);
  const list: unknown = messages ?? input;
  if (!Array.isArray(list)) return undefined;
  const last: unknown = list.findLast((item: unknown) => isRecord(item) && item.role === 'user');
  return isRecord(last) ? textOf(last.content) : undefined;
}

function textOf(content: unknown): string | undefined {
  if (typeof content === 'string') return content.slice(0, MAX_TEXT);
  if (!Array.isArray(content)) return undefined;
  const texts = content.flatMap((part: unknown) =>
    isRecord(part) && typeof part.text === 'string' ? [part.text] : [],
  );
  return texts.length === 0 ? undefined : texts.join('\n').slice(0, MAX_TEXT);
}
