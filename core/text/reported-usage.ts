import type { Usage } from '../contracts/index.js';
import { readValue } from './json-walk.js';
import { MAX_TOKENS } from './text-request.js';

type Members = Readonly<Record<string, unknown>>;

/**
 * What an upstream reports, under the names of either format.
 * @returns Undefined where it says nothing, or that nothing was used: no answer is made of no tokens.
 */
export function readUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined;
  const total = count(value.total_tokens);
  let input = count(value.prompt_tokens) ?? count(value.input_tokens);
  let output = count(value.completion_tokens) ?? count(value.output_tokens);
  if (total !== undefined && input === undefined && output !== undefined) input = Math.max(0, total - output);
  if (total !== undefined && output === undefined && input !== undefined) output = Math.max(0, total - input);
  if ((input ?? 0) + (output ?? 0) === 0 && !total) return undefined;
  const read = membersOf(value.prompt_tokens_details ?? value.input_tokens_details);
  const written = membersOf(value.completion_tokens_details ?? value.output_tokens_details);
  const cached = count(read.cached_tokens);
  const reasoning = count(written.reasoning_tokens);
  const usage: Usage = { totalTokens: total ?? (input ?? 0) + (output ?? 0) };
  if (input !== undefined) usage.inputTokens = input;
  if (output !== undefined) usage.outputTokens = output;
  if (cached !== undefined) usage.cachedTokens = cached;
  if (reasoning !== undefined) usage.reasoningTokens = reasoning;
  return usage;
}

/** As {@link readUsage}, of an object as its JSON. Undefined where that is none. */
export function readUsageBytes(bytes: Uint8Array): Usage | undefined {
  try {
    return readUsage(readValue(bytes, 0, bytes.length));
  } catch {
    // Only where it ends was looked at before.
    return undefined;
  }
}

/** What nobody can have used is not said. */
function count(value: unknown): number | undefined {
  const isCount = typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_TOKENS;
  return isCount ? value : undefined;
}

function membersOf(value: unknown): Members {
  return isObject(value) ? value : {};
}

function isObject(value: unknown): value is Members {
  return typeof value === 'object' && value !== null;
}
