import { GatewayError } from 'mediagate';

export type Members = Readonly<Record<string, unknown>>;

/** @param place of what is wrong: `messages.0.content`; its first part is the `param`. */
export function refuse(place: string, accepted: string): never {
  throw new GatewayError('invalid_value', `${place} must be ${accepted}.`, { param: place });
}

/** What is there and cannot be put into the format of the models. */
export function refuseUnable(place: string, why: string): never {
  throw new GatewayError('unsupported_value', `${place}: ${why}.`, { param: place });
}

export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @throws GatewayError `invalid_value`, as the others here. */
export function membersAt(value: unknown, place: string): Members {
  return isMembers(value) ? value : refuse(place, 'an object');
}

export function textAt(value: unknown, place: string): string {
  return typeof value === 'string' ? value : refuse(place, 'a text');
}

export function nameAt(value: unknown, place: string): string {
  return typeof value === 'string' && value !== '' ? value : refuse(place, 'a text that is not empty');
}

export function flagAt(value: unknown, place: string): boolean {
  return typeof value === 'boolean' ? value : refuse(place, 'true or false');
}

export function listAt(value: unknown, place: string): readonly unknown[] {
  return Array.isArray(value) ? value : refuse(place, 'a list');
}

/** Undefined where it was not sent; `null` counts as that. */
export function optional<Value>(
  value: unknown,
  place: string,
  read: (value: unknown, place: string) => Value,
): Value | undefined {
  return value === undefined || value === null ? undefined : read(value, place);
}

/** What can stand beside each other in a turn, or in the result of a tool. */
export type Part =
  | { type: 'text'; text: string }
  /** `url` is an address, or a data URI. */
  | { type: 'image'; url: string }
  /** `data` is a data URI. */
  | { type: 'file'; name: string; data: string }
  | { type: 'file_link'; url: string; place: string };

const IMAGE_TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];
const PDF = 'application/pdf';
/** The format of the models wants one; the title is told beside it. */
const FILE_NAME = 'document.pdf';

/** Reads a block of text, an image or a document. */
type ReadPart = (block: Members, place: string) => readonly Part[];

const PARTS: Readonly<Record<string, ReadPart>> = {
  text: (block, place) => [readText(block, place)],
  image: (block, place) => [readImage(block, place)],
  document: readDocument,
};

/** Of a content that is a bare text, or a list of blocks. */
export function blocksOf(content: unknown, place: string): readonly (readonly [block: Members, place: string])[] {
  if (typeof content === 'string') return content === '' ? [] : [[{ type: 'text', text: content }, place]];
  if (!Array.isArray(content)) refuse(place, 'a text or a list of content blocks');
  return content.map((block, index) => {
    const at = `${place}.${index}`;
    return [membersAt(block, at), at] as const;
  });
}

export function readText({ text }: Members, place: string): Part & { type: 'text' } {
  return { type: 'text', text: textAt(text, `${place}.text`) };
}

/** Reads a text, an image or a document. @throws GatewayError `unsupported_value` naming a block that is none of them. */
export function readPart(block: Members, place: string): readonly Part[] {
  const { type } = block;
  const read = typeof type === 'string' && Object.hasOwn(PARTS, type) ? PARTS[type] : undefined;
  return read ? read(block, place) : refuseBlock(block, place);
}

export function refuseBlock({ type }: Members, place: string): never {
  if (typeof type !== 'string') refuse(`${place}.type`, 'the type of a content block');
  refuseUnable(place, `a block of the type ${JSON.stringify(type.slice(0, 100))} cannot be passed on from here`);
}

function readImage({ source }: Members, place: string): Part {
  const at = `${place}.source`;
  const { type, ...rest } = membersAt(source, at);
  if (type === 'url') return { type: 'image', url: addressAt(rest.url, `${at}.url`) };
  if (type === 'base64') {
    const mediaType =
      IMAGE_TYPES.find((one) => one === rest.media_type) ??
      refuse(`${at}.media_type`, `one of ${IMAGE_TYPES.join(', ')}`);
    return { type: 'image', url: `data:${mediaType};base64,${nameAt(rest.data, `${at}.data`)}` };
  }
  return refuseSource(type, at, 'base64 or url');
}

function readDocument({ source, title, context }: Members, place: string): readonly Part[] {
  const at = `${place}.source`;
  const { type, ...rest } = membersAt(source, at);
  const words = [optional(title, `${place}.title`, textAt), optional(context, `${place}.context`, textAt)].filter(
    Boolean,
  );
  const about: Part[] = words.length > 0 ? [{ type: 'text', text: words.join('\n') }] : [];
  if (type === 'text') return [...about, { type: 'text', text: textAt(rest.data, `${at}.data`) }];
  if (type === 'content') return [...about, ...readNested(rest.content, `${at}.content`)];
  if (type === 'url') return [...about, { type: 'file_link', url: addressAt(rest.url, `${at}.url`), place }];
  if (type === 'base64') {
    if (rest.media_type !== PDF) refuse(`${at}.media_type`, PDF);
    return [...about, { type: 'file', name: FILE_NAME, data: `data:${PDF};base64,${nameAt(rest.data, `${at}.data`)}` }];
  }
  return refuseSource(type, at, 'base64, url, text or content');
}

function readNested(content: unknown, place: string): readonly Part[] {
  return blocksOf(content, place).flatMap(([block, at]) => {
    if (block.type === 'text') return [readText(block, at)];
    return block.type === 'image' ? [readImage(block, at)] : refuseBlock(block, at);
  });
}

function refuseSource(type: unknown, place: string, accepted: string): never {
  if (type === 'file') refuseUnable(place, `no files are kept here; send it as ${accepted}`);
  refuse(`${place}.type`, accepted);
}

function addressAt(value: unknown, place: string): string {
  return typeof value === 'string' && /^https?:\/\/./i.test(value) ? value : refuse(place, 'an http or https address');
}

export type Role = 'user' | 'assistant' | 'system';

/** One step of a conversation, as every format of the models has it in some way. */
export type Turn =
  | { type: 'said'; role: Role; parts: readonly Part[] }
  /** A tool that the model called. */
  | { type: 'call'; id: string; name: string; input: Members }
  /** What came of it. */
  | { type: 'result'; id: string; parts: readonly Part[]; failed: boolean };

const ROLES: Readonly<Record<Role, (content: unknown, place: string) => readonly Turn[]>> = {
  user: readUserTurns,
  assistant: readAssistantTurns,
  system: (content, place) => said('system', readTexts(content, place)),
};

/**
 * @throws GatewayError `missing_required_parameter`, `invalid_value`, `unsupported_value`, naming the place.
 */
export function readConversation(messages: unknown): Turn[] {
  const all = listAt(messages, 'messages');
  if (all.length === 0) refuse('messages', 'a list of at least one message');
  return all.flatMap((message, index) => {
    const place = `messages.${index}`;
    const { role, content } = membersAt(message, place);
    if (role !== 'user' && role !== 'assistant' && role !== 'system')
      refuse(`${place}.role`, 'user, assistant or system');
    const turns = ROLES[role](content, `${place}.content`);
    if (turns.length === 0 && role !== 'assistant' && index === all.length - 1) {
      refuse(`${place}.content`, 'a text or a list of content blocks that is not empty');
    }
    return turns;
  });
}

/** Blocks of text and nothing else. */
export function readTexts(content: unknown, place: string): (Part & { type: 'text' })[] {
  return blocksOf(content, place).map(([block, at]) =>
    block.type === 'text' ? readText(block, at) : refuseBlock(block, at),
  );
}

/** Results go first: nothing may stand between them and the call. */
function readUserTurns(content: unknown, place: string): readonly Turn[] {
  const blocks = blocksOf(content, place);
  const results = blocks.filter(([{ type }]) => type === 'tool_result');
  const others = blocks.filter(([{ type }]) => type !== 'tool_result');
  return [
    ...results.map(([block, at]) => readResult(block, at)),
    ...said(
      'user',
      others.flatMap(([block, at]) => readPart(block, at)),
    ),
  ];
}

function readResult({ tool_use_id: id, content, is_error: failed }: Members, place: string): Turn {
  const blocks = optional(content, `${place}.content`, blocksOf) ?? [];
  return {
    type: 'result',
    id: nameAt(id, `${place}.tool_use_id`),
    parts: blocks.flatMap(([block, at]) => readPart(block, at)),
    failed: optional(failed, `${place}.is_error`, flagAt) ?? false,
  };
}

/** What the model thought is not sent back: it was told as words, which are not what it thought in. */
function readAssistantTurns(content: unknown, place: string): readonly Turn[] {
  const turns: Turn[] = [];
  let parts: Part[] = [];
  for (const [block, at] of blocksOf(content, place)) {
    if (block.type === 'thinking' || block.type === 'redacted_thinking') continue;
    if (block.type === 'text') parts.push(readText(block, at));
    else if (block.type === 'tool_use') {
      turns.push(...said('assistant', parts), readCall(block, at));
      parts = [];
    } else refuseBlock(block, at);
  }
  turns.push(...said('assistant', parts));
  return turns;
}

function readCall({ id, name, input }: Members, place: string): Turn {
  return {
    type: 'call',
    id: nameAt(id, `${place}.id`),
    name: nameAt(name, `${place}.name`),
    input: membersAt(input, `${place}.input`),
  };
}

function said(role: Role, parts: readonly Part[]): Turn[] {
  return parts.length === 0 ? [] : [{ type: 'said', role, parts }];
}

export interface Tool {
  name: string;
  description?: string;
  /** JSON Schema. */
  parameters: Members;
  strict: boolean;
}

export interface ToolUse {
  tools: readonly Tool[];
  /** Default: as the model likes. */
  choice?: 'auto' | 'required' | 'none' | { name: string };
  /** Whether it may call one tool at a time alone. */
  oneAtATime: boolean;
}

/** @throws GatewayError `invalid_value`; `unsupported_value` for tools that only their vendor has. */
export function readToolUse({ tools, tool_choice: choice }: Members): ToolUse {
  const sent = optional(tools, 'tools', listAt) ?? [];
  const read = sent.map((tool, index) => readTool(membersAt(tool, `tools.${index}`), `tools.${index}`));
  const chosen = optional(choice, 'tool_choice', membersAt);
  const disabled = chosen?.disable_parallel_tool_use;
  return {
    tools: read,
    ...(chosen && { choice: readChoice(chosen, read) }),
    oneAtATime: optional(disabled, 'tool_choice.disable_parallel_tool_use', flagAt) ?? false,
  };
}

function readTool({ type, name, description, input_schema: schema, strict }: Members, place: string): Tool {
  const kind = optional(type, `${place}.type`, textAt) ?? 'custom';
  if (kind !== 'custom') {
    const named = JSON.stringify(kind.slice(0, 100));
    refuseUnable(place, `a tool of the type ${named} is its vendor's own; send tools with a name and an input_schema`);
  }
  const told = optional(description, `${place}.description`, textAt);
  return {
    name: nameAt(name, `${place}.name`),
    ...(told !== undefined && { description: told }),
    parameters: isMembers(schema) ? schema : refuse(`${place}.input_schema`, 'a JSON Schema'),
    strict: optional(strict, `${place}.strict`, flagAt) ?? false,
  };
}

function readChoice({ type, name }: Members, tools: readonly Tool[]): NonNullable<ToolUse['choice']> {
  if (type === 'auto' || type === 'none') return type;
  if (type === 'any') return tools.length > 0 ? 'required' : refuse('tool_choice.type', 'auto or none without tools');
  if (type !== 'tool') return refuse('tool_choice.type', 'auto, any, tool or none');
  const wanted = nameAt(name, 'tool_choice.name');
  return tools.some((tool) => tool.name === wanted)
    ? { name: wanted }
    : refuse('tool_choice.name', 'that of a tool sent');
}

/** The formats of the models want a name for the schema of an answer. */
export const SCHEMA_NAME = 'answer';

/** They have no member that says a tool failed: the model is told in words. */
export function sanitizedError({ parts, failed }: Turn & { type: 'result' }): readonly Part[] {
  return failed ? [{ type: 'text', text: 'The tool failed:' }, ...parts] : parts;
}
