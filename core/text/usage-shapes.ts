/*
 * Reads the usage that an upstream reports, in the shapes of all vendors, as one set of counts. The tables name the
 * vendor of each shape. Cached and cache-written tokens are always part of the input, and reasoning is part of the
 * output; where a vendor counts them separately, its total shows that. Impossible counts and zeros count as not
 * reported, so the usage is estimated instead. Service tiers and web searches are read as well, because they have
 * prices of their own.
 */

import type { Usage } from '../contracts/index.js';
import { isRecord, type JsonRecord, recordOf } from '../runtime/index.js';
import { isText, OPEN_BRACE, readValue, walkElements, walkFields } from './json.js';
import { MAX_TOKENS } from './requests.js';

/** Names of the input, of the output and of their sum. */
const INPUT = [
  'prompt_tokens', // Chats: OpenAI, DeepSeek, xAI, Groq, Kimi, Mistral, vLLM, llama.cpp and most others.
  'input_tokens', // Responses of OpenAI, messages of Anthropic, transcriptions.
  'inputTokens', // Amazon Bedrock, Converse.
  'inputTokenCount', // Amazon Bedrock, metrics of an invocation.
  'promptTokenCount', // Google Gemini.
  'prompt_eval_count', // Ollama.
] as const;
const OUTPUT = [
  'completion_tokens',
  'output_tokens',
  'outputTokens',
  'outputTokenCount',
  'candidatesTokenCount',
  'eval_count',
] as const;
const TOTAL = ['total_tokens', 'totalTokens', 'totalTokenCount'] as const;

/** Objects with the parts of the input and of the output. The last one is of OpenAI's transcriptions. */
const INPUT_PARTS = ['prompt_tokens_details', 'input_tokens_details', 'input_token_details'] as const;
const OUTPUT_PARTS = ['completion_tokens_details', 'output_tokens_details', 'output_token_details'] as const;

/** Names of what came from a cache, beside `cached_tokens` of the parts. */
const CACHED = [
  'cache_read_input_tokens', // Anthropic.
  'prompt_cache_hit_tokens', // DeepSeek.
  'cached_tokens', // Kimi, Together.
  'num_cached_tokens', // Mistral.
  'cacheReadInputTokens', // Amazon Bedrock, Converse.
  'cacheReadInputTokenCount', // Amazon Bedrock, metrics of an invocation.
  'cachedContentTokenCount', // Google Gemini.
] as const;
/** Names of what was written to a cache, beside `cache_write_tokens` of the parts. */
const CACHE_WRITES = ['cache_creation_input_tokens', 'cacheWriteInputTokens', 'cacheWriteInputTokenCount'] as const;
/** Names of what the model thought, beside `reasoning_tokens` and `thinking_tokens` of the parts. */
const REASONING = [
  'reasoning_tokens', // Perplexity, Kimi.
  'thoughtsTokenCount', // Google Gemini.
] as const;
/** Names of inputs that a cache is counted beside, not among. */
const APART_FROM_CACHE = ['input_tokens', 'inputTokens', 'inputTokenCount'] as const;

/** Service tiers at the usual price. */
const USUAL_TIERS: ReadonlySet<unknown> = new Set(['auto', 'default', 'standard', 'on_demand']);
const MAX_TIER_LENGTH = 64;

/**
 * @returns Undefined if it reports none or zero: no answer has zero tokens. Also if a count of the input or the output
 * is impossible, such as -1: it is estimated then.
 */
export function readUsage(value: unknown): Usage | undefined {
  if (!isRecord(value)) return undefined;
  const read = partsOf(value, INPUT_PARTS);
  const written = partsOf(value, OUTPUT_PARTS);
  const total = firstCount(value, TOTAL) || undefined;
  const reasoning = count(written.reasoning_tokens) ?? count(written.thinking_tokens) ?? firstCount(value, REASONING);
  let cached = largest(count(read.cached_tokens), value, CACHED);
  let cacheWrite = largest(count(read.cache_write_tokens), value, CACHE_WRITES);
  let input = firstCount(value, INPUT);
  let output = firstCount(value, OUTPUT);
  if (isImpossible(value, INPUT, input) || isImpossible(value, OUTPUT, output)) return undefined;
  const ofCache = (cached ?? 0) + (cacheWrite ?? 0);
  if (isApart(value, { input, output, total, reasoning, cached, ofCache })) input = (input ?? 0) + ofCache;
  if (total !== undefined && input === undefined && output !== undefined) input = Math.max(0, total - output);
  if (total !== undefined && output === undefined && input !== undefined) output = Math.max(0, total - input);
  // Reasoning apart from the output: of xAI and Google Gemini the total tells it.
  if (total !== undefined && input !== undefined && output !== undefined) output = Math.max(output, total - input);
  else if (total === undefined && output !== undefined && (reasoning ?? 0) > output) output += reasoning ?? 0;
  const sum = (input ?? 0) + (output ?? 0);
  if (sum === 0 && !total) return undefined;
  if (input !== undefined && cached !== undefined) cached = Math.min(cached, input);
  if (input !== undefined && cacheWrite !== undefined) cacheWrite = Math.min(cacheWrite, input - (cached ?? 0));
  const usage: Usage = { totalTokens: total ?? sum };
  if (input !== undefined) usage.inputTokens = input;
  if (output !== undefined) usage.outputTokens = output;
  if (cached !== undefined) usage.cachedTokens = cached;
  if (cacheWrite !== undefined) usage.cacheWriteTokens = cacheWrite;
  if (reasoning !== undefined) usage.reasoningTokens = reasoning;
  return addPriced(usage, value, read, written);
}

/** Adds what only has a price of its own at some vendors, where there is any. */
function addPriced(usage: Usage, value: JsonRecord, read: JsonRecord, written: JsonRecord): Usage {
  const add = (name: (typeof PRICED)[number], amount: number | undefined) => {
    if (amount) usage[name] = amount;
  };
  // Anthropic; then the form that this gateway gives it in a chat.
  add('cacheWriteLongTokens', count(recordOf(value.cache_creation).ephemeral_1h_input_tokens));
  add('cacheWriteLongTokens', count(read.cache_write_1h_tokens));
  add('inputAudioTokens', count(read.audio_tokens));
  add('outputAudioTokens', count(written.audio_tokens));
  add('inputImageTokens', count(read.image_tokens));
  add('outputImageTokens', count(written.image_tokens));
  // Anthropic and OpenRouter; Perplexity; xAI.
  add('webSearches', count(recordOf(value.server_tool_use).web_search_requests));
  add('webSearches', count(value.num_search_queries));
  add('webSearches', count(recordOf(value.server_side_tool_usage_details).web_search_calls));
  // Anthropic's faster mode has a price of its own in every tier.
  return withTier(usage, value.speed === 'fast' ? 'fast' : value.service_tier);
}

const PRICED = [
  'cacheWriteLongTokens',
  'inputAudioTokens',
  'outputAudioTokens',
  'inputImageTokens',
  'outputImageTokens',
  'webSearches',
] as const;

/** Adds the tier in which the vendor answered, unless it is the usual one. */
export function withTier(usage: Usage, tier: unknown): Usage {
  if (typeof tier === 'string' && tier.length <= MAX_TIER_LENGTH && !USUAL_TIERS.has(tier)) usage.serviceTier = tier;
  return usage;
}

export function tieredUsage(bytes: Buffer | undefined, tier: string | undefined): Usage | undefined {
  const usage = bytes && readUsageBytes(bytes);
  return usage && tier !== undefined ? withTier(usage, tier) : usage;
}

export function withSearches(usage: Usage, searches: number): Usage {
  if (searches > 0) usage.webSearches = Math.max(usage.webSearches ?? 0, searches);
  return usage;
}

interface Counts {
  input: number | undefined;
  output: number | undefined;
  total: number | undefined;
  reasoning: number | undefined;
  cached: number | undefined;
  /** Read from the cache and written to it. */
  ofCache: number;
}

/** Whether what is of a cache is beside the input: so Anthropic counts, and servers that name more than the input has. */
function isApart(value: JsonRecord, { input, output, total, reasoning = 0, cached = 0, ofCache }: Counts): boolean {
  if (ofCache === 0) return false;
  if (total !== undefined) {
    const more = total - (input ?? 0) - (output ?? 0);
    if (input === undefined || output === undefined || more === reasoning) return false;
    return more === ofCache || more === ofCache + reasoning;
  }
  if (value.prompt_tokens !== undefined) return cached > (input ?? 0);
  const isCacheOfAnthropic =
    value.cache_read_input_tokens !== undefined || value.cache_creation_input_tokens !== undefined;
  return isCacheOfAnthropic || APART_FROM_CACHE.slice(1).some((name) => value[name] !== undefined);
}

/** The usage in an object as JSON; undefined if it reports none, or is no object. */
export function readUsageBytes(bytes: Uint8Array): Usage | undefined {
  try {
    return readUsage(readValue(bytes, 0, bytes.length));
  } catch {
    // So far only its end was checked.
    return undefined;
  }
}

/** Whether JSON has a count that is not 0: some servers send a last usage of zeros after a good one. */
export function hasCounts(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte >= DIGIT_1 && byte <= DIGIT_9) return true;
  }
  return false;
}

/** Copies a reported usage, unless it has only zeros and follows another. */
export function latestUsage(before: Buffer | undefined, bytes: Buffer, start: number, end: number): Buffer {
  return !before || hasCounts(bytes, start, end) ? Buffer.from(bytes.subarray(start, end)) : before;
}

const DIGIT_1 = 0x31;
const DIGIT_9 = 0x39;

/**
 * The usage of a later event of a message over that of an earlier one. Both count from the beginning; a zero or null of
 * the later one says nothing.
 */
export function laterUsage(earlier: JsonRecord, later: JsonRecord): JsonRecord {
  return { ...earlier, ...Object.fromEntries(Object.entries(later).filter(([, value]) => !isNothing(value))) };
}

function isNothing(value: unknown): boolean {
  if (isRecord(value)) return Object.values(value).every((part) => part === 0 || part === null);
  return value === null || value === 0;
}

/** The object of the name `usage` in the object that starts at `start`: `x_groq` of Groq, and the choice of Kimi. */
export function nestedUsage(bytes: Buffer, start: number): Buffer | undefined {
  let found: Buffer | undefined;
  walkFields(bytes, start, ({ nameStart, nameEnd, valueStart, valueEnd }) => {
    if (bytes[valueStart] === OPEN_BRACE && isText(bytes, nameStart, nameEnd, 'usage'))
      found = Buffer.from(bytes.subarray(valueStart, valueEnd));
  });
  return found;
}

const WEB_SEARCH = '"web_search_call"';

/**
 * Counts the searches among the output items of a response: OpenAI bills each, and counts them nowhere. Opening a page
 * that was found is not billed.
 */
export function countSearches(bytes: Buffer, start: number, end: number): number {
  if (!bytes.subarray(start, end).includes(WEB_SEARCH)) return 0;
  let searches = 0;
  try {
    walkElements(bytes, start, (itemStart, itemEnd) => {
      const { type, action } = recordOf(readValue(bytes, itemStart, itemEnd));
      const { type: done = 'search' } = recordOf(action);
      if (type === 'web_search_call' && done === 'search') searches += 1;
    });
  } catch {
    // So far only its end was checked.
  }
  return searches;
}

function partsOf(value: JsonRecord, names: readonly string[]): JsonRecord {
  for (const name of names) if (isRecord(value[name])) return value[name];
  return {};
}

function firstCount(value: JsonRecord, names: readonly string[]): number | undefined {
  for (const name of names) {
    const found = count(value[name]);
    if (found !== undefined) return found;
  }
  return undefined;
}

function largest(given: number | undefined, value: JsonRecord, names: readonly string[]): number | undefined {
  let found = given;
  for (const name of names) {
    const one = count(value[name]);
    if (one !== undefined && one >= (found ?? 0)) found = one;
  }
  return found;
}

/** Whether a count is stated that cannot be one. */
function isImpossible(value: JsonRecord, names: readonly string[], found: number | undefined): boolean {
  return found === undefined && names.some((name) => value[name] !== undefined && value[name] !== null);
}

/** Impossible values are not reported. */
function count(value: unknown): number | undefined {
  const isCount = typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MAX_TOKENS;
  return isCount ? value : undefined;
}
