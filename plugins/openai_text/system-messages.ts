/*
 * Messages of the system as a server wants them. Some servers do not know the role `developer`, and templates of many models
 * take one system message, at the beginning. With the option `systemMessages`, chats are changed so; every other byte
 * stays as the client sent it.
 */

import {
  asRecord,
  type JsonRecord,
  type JsonValue,
  markNumbers,
  replaceFields,
  restoreNumbers,
} from 'mediagate/plugin';

/** `as_sent`: unchanged. `system`: `developer` becomes `system`. `first`: and all of them become one, at the beginning. */
export type SystemMessages = 'as_sent' | 'system' | 'first';

/** The body of a chat with its system messages in the wanted form; the body itself if they have it. */
export function withSystemMessages(body: Uint8Array, wanted: SystemMessages): Uint8Array {
  if (wanted === 'as_sent') return body;
  const text = Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString('utf8');
  if (!/"(?:developer|system)"/.test(text)) return body;
  const { messages } = JSON.parse(markNumbers(text)) as { messages?: unknown };
  if (!Array.isArray(messages)) return body;
  const named = messages.map((message) => (isOfSystem(message) ? { ...message, role: 'system' } : message));
  const arranged = wanted === 'first' ? joinedFirst(named) : named;
  const replaced = replaceFields(body, { messages: arranged as JsonValue });
  return Buffer.from(restoreNumbers(Buffer.from(replaced).toString('utf8')));
}

function isOfSystem(message: unknown): message is JsonRecord {
  const role = asRecord(message)?.role;
  return role === 'developer' || role === 'system';
}

function joinedFirst(messages: readonly unknown[]): unknown[] {
  const system = messages.filter(isOfSystem);
  if (system.length === 0) return [...messages];
  const texts = system.map(({ content }) => textOf(content));
  return [{ ...system[0], content: texts.join('\n\n') }, ...messages.filter((message) => !isOfSystem(message))];
}

function textOf(content: unknown): string {
  if (!Array.isArray(content)) return String(content ?? '');
  return content.map((part) => String(asRecord(part)?.text ?? '')).join('\n');
}
