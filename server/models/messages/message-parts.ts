/*
 * Reads the parts of a request in Anthropic's format: conversation, content blocks, tools and the choice of one. The
 * result is a list of turns and tools that fits every model format. Each invalid value is refused with the path where
 * it stands. A block that only its vendor understands becomes a text of at most 20,000 characters, so that the
 * conversation goes on with another model. Tools that only the vendor hosts are left out and named in `ignored`.
 * Results of tools come before the other parts of their turn, because nothing may stand between a call and its result.
 */

import { GatewayError, isRecord, type JsonRecord } from '../../../core/runtime/index.js';
import { fitToolId } from '../../../core/text/index.js';

/** @param path Of the invalid value: `messages.0.content`; its first part is the `param`. */
export function refuse(path: string, accepted: string): never {
  throw new GatewayError('invalid_value', `${path} must be ${accepted}.`, { param: path });
}

/** A valid value that the model's format cannot express. */
export function refuseUnable(path: string, why: string): never {
  throw new GatewayError('unsupported_value', `${path}: ${why}.`, { param: path });
}

/** @throws GatewayError `invalid_value`, as the others here. */
export function recordAt(value: unknown, path: string): JsonRecord {
  return isRecord(value) ? value : refuse(path, 'an object');
}

export function textAt(value: unknown, path: string): string {
  return typeof value === 'string' ? value : refuse(path, 'a text');
}

export function nameAt(value: unknown, path: string): string {
  return typeof value === 'string' && value !== '' ? value : refuse(path, 'a text that is not empty');
}

export function flagAt(value: unknown, path: string): boolean {
  return typeof value === 'boolean' ? value : refuse(path, 'true or false');
}

export function listAt(value: unknown, path: string): readonly unknown[] {
  return Array.isArray(value) ? value : refuse(path, 'a list');
}

/** Undefined if it was not sent; `null` counts as not sent. */
export function optional<Value>(
  value: unknown,
  path: string,
  read: (value: unknown, path: string) => Value,
): Value | undefined {
  return value === undefined || value === null ? undefined : read(value, path);
}

/** The parts of a turn, or of a tool result. */
export type Part =
  | { type: 'text'; text: string }
  /** `url` is an https address, or a data URI. */
  | { type: 'image'; url: string }
  /** `data` is a data URI. */
  | { type: 'file'; name: string; data: string }
  | { type: 'file_link'; url: string; path: string };

const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
/** Names that clients use for the same types. */
const IMAGE_ALIASES: Readonly<Record<string, string>> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/x-png': 'image/png',
};
/** Characters of a block of another kind that is kept as text. */
const MAX_BLOCK_TEXT = 20_000;
const PDF = 'application/pdf';
/** The model's format requires one; the title is sent beside it. */
const FILE_NAME = 'document.pdf';

/** Reads a block of text, an image or a document. */
type ReadPart = (block: JsonRecord, path: string) => readonly Part[];

const PARTS: Readonly<Record<string, ReadPart>> = {
  text: (block, path) => [readText(block, path)],
  image: (block, path) => [readImage(block, path)],
  document: readDocument,
};

/** The blocks of a content that is a text or a list of blocks. */
export function blocksOf(content: unknown, path: string): readonly (readonly [block: JsonRecord, place: string])[] {
  if (typeof content === 'string') return content === '' ? [] : [[{ type: 'text', text: content }, path]];
  if (!Array.isArray(content)) refuse(path, 'a text or a list of content blocks');
  return content.map((block, index) => {
    const at = `${path}.${index}`;
    return [recordAt(block, at), at] as const;
  });
}

export function readText({ text }: JsonRecord, path: string): Part & { type: 'text' } {
  return { type: 'text', text: textAt(text, `${path}.text`) };
}

/** Reads a text, an image or a document. A block of another type becomes a text: the conversation goes on without it. */
export function readPart(block: JsonRecord, path: string): readonly Part[] {
  const { type } = block;
  const read = typeof type === 'string' && Object.hasOwn(PARTS, type) ? PARTS[type] : undefined;
  return read ? read(block, path) : [describePart(block, path)];
}

/** A block that only its vendor understands, such as the results of its web search, in words for another model. */
export function describePart({ type, ...block }: JsonRecord, path: string): Part & { type: 'text' } {
  if (typeof type !== 'string') refuse(`${path}.type`, 'the type of a content block');
  const { name, input, content, id: _id, tool_use_id: _use, cache_control: _cache, ...rest } = block;
  if (type === 'server_tool_use') return asText(`[${String(name)} ${JSON.stringify(input ?? {})}]`);
  const found = Array.isArray(content) ? content.filter(isRecord) : [];
  const links = found.flatMap(({ title, url }) =>
    typeof url === 'string' ? [`- ${String(title ?? url)}: ${url}`] : [],
  );
  if (links.length > 0) return asText([`[${type}]`, ...links].join('\n'));
  const texts = found.flatMap(({ text }) => (typeof text === 'string' ? [text] : []));
  if (texts.length > 0) return asText([`[${type}]`, ...texts].join('\n'));
  return asText(`[${type} ${JSON.stringify({ ...rest, ...(content !== undefined && { content }) })}]`);
}

function asText(text: string): Part & { type: 'text' } {
  return { type: 'text', text: text.slice(0, MAX_BLOCK_TEXT) };
}

function readImage({ source }: JsonRecord, path: string): Part {
  const at = `${path}.source`;
  const { type, ...rest } = recordAt(source, at);
  if (type === 'url') return { type: 'image', url: addressAt(rest.url, `${at}.url`) };
  if (type === 'base64') {
    const named = typeof rest.media_type === 'string' ? rest.media_type.toLowerCase() : '';
    const mediaType =
      IMAGE_TYPES.find((one) => one === (IMAGE_ALIASES[named] ?? named)) ??
      refuse(`${at}.media_type`, `one of ${IMAGE_TYPES.join(', ')}`);
    return { type: 'image', url: `data:${mediaType};base64,${nameAt(rest.data, `${at}.data`)}` };
  }
  return refuseSource(type, at, 'base64 or url');
}

function readDocument({ source, title, context }: JsonRecord, path: string): readonly Part[] {
  const at = `${path}.source`;
  const { type, ...rest } = recordAt(source, at);
  const words = [optional(title, `${path}.title`, textAt), optional(context, `${path}.context`, textAt)].filter(
    Boolean,
  );
  const about: Part[] = words.length > 0 ? [{ type: 'text', text: words.join('\n') }] : [];
  if (type === 'text') return [...about, { type: 'text', text: textAt(rest.data, `${at}.data`) }];
  if (type === 'content') return [...about, ...readNested(rest.content, `${at}.content`)];
  if (type === 'url') return [...about, { type: 'file_link', url: addressAt(rest.url, `${at}.url`), path }];
  if (type === 'base64') {
    if (rest.media_type !== PDF) refuse(`${at}.media_type`, PDF);
    return [...about, { type: 'file', name: FILE_NAME, data: `data:${PDF};base64,${nameAt(rest.data, `${at}.data`)}` }];
  }
  return refuseSource(type, at, 'base64, url, text or content');
}

function readNested(content: unknown, path: string): readonly Part[] {
  return blocksOf(content, path).flatMap(([block, at]) => {
    if (block.type === 'text') return [readText(block, at)];
    return block.type === 'image' ? [readImage(block, at)] : [describePart(block, at)];
  });
}

function refuseSource(type: unknown, path: string, accepted: string): never {
  if (type === 'file') refuseUnable(path, `no files are kept here; send it as ${accepted}`);
  refuse(`${path}.type`, accepted);
}

function addressAt(value: unknown, path: string): string {
  return typeof value === 'string' && /^https?:\/\/./i.test(value) ? value : refuse(path, 'an http or https address');
}

export type Role = 'user' | 'assistant' | 'system';

/** One step of a conversation, in a form that fits every model format. */
export type Turn =
  | { type: 'said'; role: Role; parts: readonly Part[] }
  /** What the model thought before its next text or call. */
  | { type: 'thought'; text: string }
  /** A tool call of the model. */
  | { type: 'call'; id: string; name: string; input: JsonRecord }
  /** The result of the call. */
  | { type: 'result'; id: string; parts: readonly Part[]; failed: boolean };

/** Names of the request's tools → what a `tool_reference` to them stands for. */
type ToolTexts = ReadonlyMap<unknown, string>;

const ROLES: Readonly<Record<Role, (content: unknown, path: string, tools: ToolTexts) => readonly Turn[]>> = {
  user: readUserTurns,
  assistant: readAssistantTurns,
  system: (content, path) => turnOf('system', readTexts(content, path)),
};

/**
 * @param tools Of the same request.
 * @throws GatewayError `missing_required_parameter`, `invalid_value`, `unsupported_value`, naming the path.
 */
export function readConversation(messages: unknown, tools: unknown): Turn[] {
  const all = listAt(messages, 'messages');
  if (all.length === 0) refuse('messages', 'a list of at least one message');
  const listed = Array.isArray(tools) ? tools.filter(isRecord) : [];
  const texts: ToolTexts = new Map(
    listed.map(({ name, description, input_schema }) => [name, JSON.stringify({ name, description, input_schema })]),
  );
  return all.flatMap((message, index) => {
    const path = `messages.${index}`;
    const { role, content } = recordAt(message, path);
    if (role !== 'user' && role !== 'assistant' && role !== 'system')
      refuse(`${path}.role`, 'user, assistant or system');
    const turns = ROLES[role](content, `${path}.content`, texts);
    if (turns.length === 0 && role !== 'assistant' && index === all.length - 1) {
      refuse(`${path}.content`, 'a text or a list of content blocks that is not empty');
    }
    return turns;
  });
}

/** Text blocks only. */
export function readTexts(content: unknown, path: string): (Part & { type: 'text' })[] {
  return blocksOf(content, path).map(([block, at]) =>
    block.type === 'text' ? readText(block, at) : describePart(block, at),
  );
}

/** Results come first: nothing may be between them and the call. */
function readUserTurns(content: unknown, path: string, tools: ToolTexts): readonly Turn[] {
  const blocks = blocksOf(content, path);
  const results = blocks.filter(([{ type }]) => type === 'tool_result');
  const others = blocks.filter(([{ type }]) => type !== 'tool_result');
  return [
    ...results.map(([block, at]) => readResult(block, at, tools)),
    ...turnOf(
      'user',
      others.flatMap(([block, at]) => readPart(block, at)),
    ),
  ];
}

function readResult({ tool_use_id: id, content, is_error: failed }: JsonRecord, path: string, tools: ToolTexts): Turn {
  const blocks = optional(content, `${path}.content`, blocksOf) ?? [];
  return {
    type: 'result',
    id: fitToolId(nameAt(id, `${path}.tool_use_id`)),
    parts: blocks.flatMap(([block, at]) => {
      const tool = block.type === 'tool_reference' ? tools.get(block.tool_name) : undefined;
      return tool === undefined ? readPart(block, at) : [asText(tool)];
    }),
    failed: optional(failed, `${path}.is_error`, flagAt) ?? false,
  };
}

function readAssistantTurns(content: unknown, path: string): readonly Turn[] {
  const turns: Turn[] = [];
  let parts: Part[] = [];
  const endText = () => {
    turns.push(...turnOf('assistant', parts));
    parts = [];
  };
  for (const [block, at] of blocksOf(content, path)) {
    if (block.type === 'redacted_thinking') continue;
    if (block.type === 'text') parts.push(readText(block, at));
    else if (block.type === 'thinking') {
      endText();
      if (typeof block.thinking === 'string' && block.thinking !== '')
        turns.push({ type: 'thought', text: block.thinking });
    } else if (block.type === 'tool_use') {
      endText();
      turns.push(readCall(block, at));
    } else parts.push(describePart(block, at));
  }
  endText();
  return turns;
}

function readCall({ id, name, input }: JsonRecord, path: string): Turn {
  return {
    type: 'call',
    id: fitToolId(nameAt(id, `${path}.id`)),
    name: nameAt(name, `${path}.name`),
    input: recordAt(input, `${path}.input`),
  };
}

function turnOf(role: Role, parts: readonly Part[]): Turn[] {
  return parts.length === 0 ? [] : [{ type: 'said', role, parts }];
}

export interface Tool {
  name: string;
  description?: string;
  /** JSON Schema. */
  parameters: JsonRecord;
  strict: boolean;
}

export interface ToolUse {
  tools: readonly Tool[];
  /** Default: the model decides. */
  choice?: 'auto' | 'required' | 'none' | { name: string };
  /** Whether it may call only one tool at a time. */
  oneAtATime: boolean;
  /** What was left out: tools that only their vendor has, and a choice of one of them. */
  ignored: readonly string[];
}

/** @throws GatewayError `invalid_value` */
export function readToolUse({ tools, tool_choice: choice }: JsonRecord): ToolUse {
  const sent = (optional(tools, 'tools', listAt) ?? []).map((tool, index) => recordAt(tool, `tools.${index}`));
  const ignored: string[] = [];
  const read = sent.flatMap((tool, index) => {
    const kind = optional(tool.type, `tools.${index}.type`, textAt) ?? 'custom';
    if (kind === 'custom') return [readTool(tool, `tools.${index}`)];
    // Agents send tools of their vendor by default, and work without them.
    ignored.push(`tools.${kind.slice(0, 40)}`);
    return [];
  });
  const chosen = optional(choice, 'tool_choice', recordAt);
  const disabled = chosen?.disable_parallel_tool_use;
  const made = chosen && readChoice(chosen, read, sent);
  if (chosen && made === undefined) ignored.push('tool_choice');
  return {
    tools: read,
    ...(made !== undefined && { choice: made }),
    oneAtATime: optional(disabled, 'tool_choice.disable_parallel_tool_use', flagAt) ?? false,
    ignored,
  };
}

function readTool({ name, description, input_schema: schema, strict }: JsonRecord, path: string): Tool {
  const text = optional(description, `${path}.description`, textAt);
  return {
    name: nameAt(name, `${path}.name`),
    ...(text !== undefined && { description: text }),
    parameters: isRecord(schema) ? schema : refuse(`${path}.input_schema`, 'a JSON Schema'),
    strict: optional(strict, `${path}.strict`, flagAt) ?? false,
  };
}

/** @param sent Includes the tools that were left out. @returns Undefined for a choice of one of these. */
function readChoice(
  { type, name }: JsonRecord,
  tools: readonly Tool[],
  sent: readonly JsonRecord[],
): ToolUse['choice'] {
  if (type === 'auto' || type === 'none') return type;
  if (type === 'any') {
    if (tools.length > 0) return 'required';
    return sent.length > 0 ? undefined : refuse('tool_choice.type', 'auto or none without tools');
  }
  if (type !== 'tool') return refuse('tool_choice.type', 'auto, any, tool or none');
  const wanted = nameAt(name, 'tool_choice.name');
  if (tools.some((tool) => tool.name === wanted)) return { name: wanted };
  return sent.some((tool) => tool.name === wanted) ? undefined : refuse('tool_choice.name', 'that of a tool sent');
}

/** The model formats require a name for the schema of an answer. */
export const SCHEMA_NAME = 'answer';

/** They have no field for a failed tool: the model receives a text. */
export function sanitizedError({ parts, failed }: Turn & { type: 'result' }): readonly Part[] {
  return failed ? [{ type: 'text', text: 'The tool failed:' }, ...parts] : parts;
}
