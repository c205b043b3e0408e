/*
 * Makes sure that an upstream reads the same request as the gateway. Parsers differ in which of two equal fields they
 * take (the first, the last), and some take `Model` for `model`. So each field that the gateway reads must exist once
 * and in its exact letters, at every depth where it is read; all other fields may be anything.
 *
 * How: the scan of the arriving bytes counts the names of all fields. The parsed value has fewer exactly if a name is
 * repeated in its object, and only then are the bytes read again, to find which. Names in other letters are found
 * while the parsed names are counted. Cost: one set operation for each field of the value, without an allocation.
 */

import { COMMA, endOfText, isCloser, isOpener, OPEN_BRACE, QUOTE, readValue } from './json.js';

/** Fields that state the maximum output: the names that the formats have, and those that some servers read instead. */
export const LIMIT_NAMES: readonly string[] = [
  'max_tokens',
  'max_completion_tokens',
  'max_output_tokens',
  'n_predict',
  'num_predict',
  'max_tokens_to_sample',
  'max_new_tokens',
  'max_gen_len',
  'max_generated_tokens',
  'maxTokens',
  'maxOutputTokens',
  'maxCompletionTokens',
  'maxNewTokens',
];

/** Fields in which some servers read further ones, limits among them. */
export const LIMIT_CONTAINERS = [
  'options',
  'parameters',
  'extra_body',
  'generation_config',
  'generationConfig',
] as const;

/** Fields of a text request that the gateway reads, at any depth. */
const READ: ReadonlySet<string> = new Set([
  ...LIMIT_NAMES,
  ...[
    'models',
    'fallbacks',
    'fallback_models',
    'model',
    'stream',
    'stream_options',
    'include_usage',
    'n',
    'best_of',
    'background',
    'store',
    'include',
    'stop',
  ],
  ...['messages', 'input', 'prompt', 'instructions', 'system', 'content', 'role', 'type', 'id', 'name', 'text', 'user'],
  ...['tools', 'tool_choice', 'functions', 'function_call', 'function', 'custom', 'arguments', 'call_id', 'output'],
  ...['tool_calls', 'tool_call_id', 'parallel_tool_calls', 'stop_sequences', 'truncation', 'modalities', 'audio'],
  ...['service_tier', 'speed', 'inference_geo', 'thread', 'web_search_options', 'mcp_servers', 'server_url', 'url'],
  ...['conversation', 'previous_response_id', 'container', 'container_id', 'file_id', 'file_ids', 'vector_store_ids'],
  ...['skill_id', 'connector_id', 'workspace_id', 'user_profile_id', 'file_data', 'file_url', 'image_url', 'source'],
  ...['reasoning', 'reasoning_effort', 'effort', 'thinking', 'budget_tokens', 'output_config', 'encrypted_content'],
  ...['options', 'response_format', 'encoding_format', 'dimensions', 'metadata', 'prompt_cache_key', 'cache_control'],
  ...['safety_identifier', 'extra_body', 'data', 'media_type'],
]);

/** What is in these has names of the client's own. */
const OF_CLIENT: ReadonlySet<string> = new Set([
  ...['metadata', 'annotations', 'parameters', 'arguments', 'input_schema', 'schema', 'json_schema', 'properties'],
  ...['headers', 'extra_headers', 'attributes', 'filters', 'variables', 'documents', 'logit_bias', 'guided_json'],
  ...['chat_template_kwargs', 'user_location', 'env', 'citations', 'input_examples', 'examples'],
]);
/** Blocks of Anthropic's format whose `input` is the arguments of a call. */
const CALLS: ReadonlySet<unknown> = new Set(['tool_use', 'server_tool_use', 'mcp_tool_use']);

/** Where and how a request is not exact. */
export interface InexactField {
  /** As clients write it: `messages[0].role`, in the letters of the client. */
  param: string;
  /** The name that the gateway reads. */
  name: string;
  isRepeated: boolean;
}

/**
 * The first field that is repeated, or written in other letters.
 * @param names Number of names of fields in the bytes, over all depths.
 * @param read `text`: a text request, at every depth. Otherwise the names that a route reads at the outermost depth.
 */
export function findInexactField(
  value: Readonly<Record<string, unknown>>,
  bytes: Uint8Array,
  names: number,
  read: 'text' | readonly string[],
): InexactField | undefined {
  const [known, depth] = read === 'text' ? [READ, Number.POSITIVE_INFINITY] : [new Set(read), 1];
  const found: Variant = { name: undefined };
  const counted = countNames(value, known, depth, found);
  const variant = found.name;
  if (variant === undefined && counted === names) return undefined;
  const unplaced = variant === undefined ? undefined : { param: variant, name: foldCase(variant), isRepeated: false };
  return locate(bytes, known, depth) ?? unplaced;
}

/** A name in other letters than the one that is read. */
interface Variant {
  name: string | undefined;
}

/** @param depth Maximum depth at which names are compared. */
function countNames(value: object, known: ReadonlySet<string>, depth: number, found: Variant): number {
  let count = 0;
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length; index += 1) {
      const one: unknown = value[index];
      if (typeof one === 'object' && one !== null) count += countNames(one, known, depth, found);
    }
    return count;
  }
  const fields = value as Readonly<Record<string, unknown>>;
  // Parsed JSON inherits no field.
  for (const name in fields) {
    count += 1;
    if (depth > 0 && !known.has(name) && isVariant(name, known)) found.name ??= name;
    const one = fields[name];
    if (typeof one !== 'object' || one === null) continue;
    const isOfClient = OF_CLIENT.has(name) || (name === 'input' && CALLS.has(fields.type));
    count += countNames(one, known, isOfClient ? 0 : depth - 1, found);
  }
  return count;
}

/** Whether the name has capitals, or letters that some parsers take for others, and is one that is read without them. */
export function isVariant(name: string, known: ReadonlySet<string>): boolean {
  for (let index = 0; index < name.length; index += 1) {
    const code = name.charCodeAt(index);
    if ((code > 0x40 && code < 0x5b) || code > 0x7f) return known.has(foldCase(name));
  }
  return false;
}

/** As parsers fold that ignore case, which know more pairs of letters than ASCII has. */
function foldCase(name: string): string {
  return name.toUpperCase().toLowerCase();
}

/** An object or a list that is open. */
interface Open {
  /** Names so far; undefined for a list. */
  names: Set<string> | undefined;
  path: string;
  /** Latest name, or index. */
  at: string | number;
  depth: number;
}

/** Reads the names of the bytes, which were parsed before, in one pass, up to the first that is not exact. */
function locate(bytes: Uint8Array, known: ReadonlySet<string>, maxDepth: number): InexactField | undefined {
  const open: Open[] = [];
  let current: Open | undefined;
  let isName = false;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) {
      const end = endOfText(bytes, at);
      if (isName && current?.names) {
        const name = String(readValue(bytes, at, end));
        const param = current.path === '' ? name : `${current.path}.${name}`;
        const isRead = current.depth > 0 && known.has(name);
        if (isRead && current.names.has(name)) return { param, name, isRepeated: true };
        if (!isRead && current.depth > 0 && isVariant(name, known)) {
          return { param, name: foldCase(name), isRepeated: false };
        }
        current.names.add(name);
        current.at = name;
        isName = false;
      }
      at = end - 1;
    } else if (isOpener(byte)) {
      if (current) open.push(current);
      current = openIn(current, byte === OPEN_BRACE, maxDepth);
      isName = byte === OPEN_BRACE;
    } else if (isCloser(byte)) current = open.pop();
    else if (byte === COMMA) {
      if (current?.names) isName = true;
      else if (current) current.at = Number(current.at) + 1;
    }
  }
  return undefined;
}

function openIn(outer: Open | undefined, isObject: boolean, maxDepth: number): Open {
  const names = isObject ? new Set<string>() : undefined;
  const at = isObject ? '' : 0;
  if (!outer) return { names, path: '', at, depth: maxDepth };
  const isList = outer.names === undefined;
  const path = isList
    ? `${outer.path}[${outer.at}]`
    : outer.path === ''
      ? String(outer.at)
      : `${outer.path}.${outer.at}`;
  // The `type` that tells arguments from items may follow them, so that no nested `input` is compared here.
  const isOfClient = OF_CLIENT.has(String(outer.at)) || (outer.at === 'input' && outer.path !== '');
  return { names, path, at, depth: isList ? outer.depth : isOfClient ? 0 : outer.depth - 1 };
}
