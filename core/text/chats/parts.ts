/*
 * Reads texts and tool calls from a chat's answer. Servers send contents as a text or as a list of parts, and calls as
 * `tool_calls`, `function_call` or `tool_use` blocks; the callers see one form of each.
 */

import { recordOf } from '../../runtime/index.js';
import type { JsonRecord } from './values.js';

/** The text of a content: some servers send a list of parts. Anything else is returned as it is. */
export function chatTextIn(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return content
    .map((part) => recordOf(part).text)
    .filter((text) => typeof text === 'string')
    .join('');
}

/**
 * The tool calls of a message or a delta: `tool_calls`; the older `function_call`, which has no id; and blocks of the type
 * `tool_use` in the content, which servers in front of Anthropic's models pass on.
 */
export function chatCallsIn({ tool_calls: calls, function_call: called, content }: JsonRecord): JsonRecord[] {
  if (Array.isArray(calls) && calls.length > 0) return calls.map(recordOf);
  if (typeof called === 'object' && called !== null) return [{ index: 0, function: called }];
  if (!Array.isArray(content)) return [];
  return content
    .map(recordOf)
    .filter(({ type }) => type === 'tool_use')
    .map(({ id, name, input }, index) => ({ index, id, function: { name, arguments: input ?? {} } }));
}
