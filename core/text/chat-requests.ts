import { GatewayError } from '../runtime/index.js';

/*
 * A request of `/v1/responses` as one of `/v1/chat/completions`, for upstreams that only have chats. What a chat cannot
 * express is refused: built-in tools, stored responses and prompts, background work, encrypted content. Fields that this
 * file does not know are passed on, since servers have their own.
 */

export type JsonRecord = Readonly<Record<string, unknown>>;

export interface ChatFromResponses {
  /** Body of the chat, with the model of the request. */
  chat: JsonRecord;
  /** Names of tools that take a text instead of JSON; a chat has them as functions with one field `input`. */
  customTools: ReadonlySet<string>;
}

const ONLY_CHATS = 'The upstream of this model only has the chat format';
/** Ids of translated thoughts begin so: clients may name them, and nothing is lost without them. */
export const THOUGHT_ID = 'rs_chat_';
/** Fields that are converted below, or have no meaning for one chat. */
const HANDLED: ReadonlySet<string> = new Set([
  'background',
  'conversation',
  'include',
  'input',
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'metadata',
  'parallel_tool_calls',
  'previous_response_id',
  'prompt',
  'prompt_cache_key',
  'prompt_cache_retention',
  'reasoning',
  'safety_identifier',
  'service_tier',
  'store',
  'stream_options',
  'text',
  'tool_choice',
  'tools',
  'top_logprobs',
  'truncation',
]);
const USUAL_TIERS: ReadonlySet<unknown> = new Set([undefined, null, 'auto', 'default']);

/**
 * @param limitField Field of a chat that limits its output. Default `max_tokens`, which servers with only this format
 *   know.
 * @throws GatewayError `unsupported_parameter`, `unsupported_value`, `invalid_value`, `missing_required_parameter`.
 */
export function chatFromResponses(request: JsonRecord, limitField = 'max_tokens'): ChatFromResponses {
  refuseStored(request);
  const { instructions, input, stream, max_output_tokens: limit, reasoning, top_logprobs: alternatives } = request;
  const { service_tier: tier, include } = request;
  const { format, verbosity } = recordOf(request.text);
  const { effort } = recordOf(reasoning);
  const wantsLogprobs = Array.isArray(include) && include.includes('message.output_text.logprobs');
  const { tools, choice, customTools } = toolsOf(request);
  const passed = Object.fromEntries(Object.entries(request).filter(([name]) => !HANDLED.has(name)));
  const chat = {
    ...passed,
    messages: messagesOf(instructions, input),
    ...(stream === true && { stream_options: { include_usage: true } }),
    ...(isGiven(limit) && { [limitField]: limit }),
    ...(isGiven(effort) && { reasoning_effort: effort }),
    ...(isGiven(verbosity) && { verbosity }),
    ...responseFormat(format),
    ...(tools.length > 0 && { tools }),
    ...(tools.length > 0 && choice !== undefined && { tool_choice: choice }),
    ...(tools.length > 0 &&
      isGiven(request.parallel_tool_calls) && { parallel_tool_calls: request.parallel_tool_calls }),
    ...((wantsLogprobs || isGiven(alternatives)) && { logprobs: true }),
    ...(isGiven(alternatives) && { top_logprobs: alternatives }),
    ...(!USUAL_TIERS.has(tier) && { service_tier: tier }),
  };
  return { chat, customTools };
}

function refuseStored({ previous_response_id: previous, conversation, prompt, background }: JsonRecord): void {
  const resend = 'which stores no responses. Send the earlier items in "input" instead.';
  if (isGiven(previous)) throw unsupported('previous_response_id', resend);
  if (isGiven(conversation)) throw unsupported('conversation', resend);
  if (isGiven(prompt)) throw unsupported('prompt', 'which has no stored prompts. Send the text in "instructions".');
  if (background === true) throw unsupported('background', 'which has no work in the background.');
}

function unsupported(param: string, why: string): GatewayError {
  return new GatewayError('unsupported_parameter', `${ONLY_CHATS}, ${why}`, { param });
}

function unable(param: string, why: string): GatewayError {
  return new GatewayError('unsupported_value', `${ONLY_CHATS}, ${why}`, { param });
}

function invalid(param: string, expected: string): GatewayError {
  return new GatewayError('invalid_value', `"${param}" must be ${expected}.`, { param });
}

interface ModelMessage {
  role: 'assistant';
  content: string | null;
  tool_calls?: JsonRecord[];
}

function messagesOf(instructions: unknown, input: unknown): JsonRecord[] {
  const messages: JsonRecord[] = [];
  /** The last texts and tool calls of the model, which are one message. */
  let spoken: ModelMessage | undefined;
  /** Pictures of tool outputs: a tool message has only text, so they follow in a message of the user. */
  let pictures: JsonRecord[] = [];

  function showPictures(): void {
    if (pictures.length > 0) messages.push({ role: 'user', content: pictures });
    pictures = [];
  }

  function speak(): ModelMessage {
    showPictures();
    if (!spoken) {
      spoken = { role: 'assistant', content: null };
      messages.push(spoken as unknown as JsonRecord);
    }
    return spoken;
  }

  function addCall(id: unknown, name: unknown, args: string): void {
    const message = speak();
    message.tool_calls ??= [];
    message.tool_calls.push({ id, type: 'function', function: { name, arguments: args } });
  }

  function addMessage({ role, content }: JsonRecord, at: string): void {
    if (role === 'assistant') {
      const text = textsOf(partsOf(content, `${at}.content`), `${at}.content`).join('');
      const message = speak();
      message.content = message.content === null ? text : `${message.content}\n\n${text}`;
      return;
    }
    spoken = undefined;
    showPictures();
    const parts = partsOf(content, `${at}.content`);
    if (role === 'user') messages.push({ role, content: contentOf(parts) });
    else if (role === 'system' || role === 'developer') {
      messages.push({ role: 'system', content: textsOf(parts, `${at}.content`).join('\n') });
    } else throw invalid(`${at}.role`, '"user", "assistant", "system" or "developer"');
  }

  function addItem(item: JsonRecord, at: string): void {
    const { type = item.role === undefined ? undefined : 'message', call_id: id, name } = item;
    if (type === 'message') addMessage(item, at);
    else if (type === 'function_call') addCall(id, name, textOf(item.arguments, `${at}.arguments`));
    else if (type === 'custom_tool_call') {
      addCall(id, name, JSON.stringify({ input: textOf(item.input, `${at}.input`) }));
    } else if (type === 'function_call_output' || type === 'custom_tool_call_output') {
      spoken = undefined;
      const parts = partsOf(item.output, `${at}.output`);
      const texts = parts.filter((part) => part.type === 'text').map(({ text }) => text);
      messages.push({ role: 'tool', tool_call_id: id, content: texts.join('\n') });
      pictures.push(...parts.filter((part) => part.type !== 'text'));
    } else if (type === 'reasoning') {
      // What the model thought earlier is not part of a chat.
      if (!isGiven(item.encrypted_content)) return;
      throw unable(`${at}.encrypted_content`, 'which cannot read encrypted content. Leave the reasoning item out.');
    } else if (type === undefined || type === 'item_reference') {
      if (typeof item.id === 'string' && item.id.startsWith(THOUGHT_ID)) return;
      const advice = 'Send whole items; clients that name them by id do so with "store": false.';
      throw unable(`${at}.id`, `which stores no items. ${advice}`);
    } else throw unable(`${at}.type`, `which has no items of the type ${nameOf(type)}.`);
  }

  if (isGiven(instructions)) messages.push({ role: 'system', content: textOf(instructions, 'instructions') });
  if (typeof input === 'string') messages.push({ role: 'user', content: input });
  else if (Array.isArray(input)) {
    for (const [index, item] of input.entries()) addItem(recordAt(item, `input[${index}]`), `input[${index}]`);
  } else if (isGiven(input)) throw invalid('input', 'a text or a list of items');
  else throw new GatewayError('missing_required_parameter', 'The field "input" is required.', { param: 'input' });
  showPictures();
  return joinFirst(messages);
}

/** Templates of many models take a system message at the beginning only, and one. */
function joinFirst(messages: readonly JsonRecord[]): JsonRecord[] {
  const end = messages.findIndex(({ role }) => role !== 'system');
  const first = end === -1 ? messages : messages.slice(0, end);
  if (first.length < 2) return [...messages];
  const content = first.map((message) => message.content).join('\n\n');
  return [{ role: 'system', content }, ...messages.slice(first.length)];
}

/** Parts of a content as a chat has them. */
function partsOf(content: unknown, at: string): JsonRecord[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  if (!Array.isArray(content)) throw invalid(at, 'a text or a list of parts');
  return content.map((part, index) => partOf(recordAt(part, `${at}[${index}]`), `${at}[${index}]`));
}

function partOf(part: JsonRecord, at: string): JsonRecord {
  const { type, detail } = part;
  if (type === 'input_text' || type === 'output_text' || type === 'text') {
    return { type: 'text', text: textOf(part.text, `${at}.text`) };
  }
  if (type === 'refusal') return { type: 'text', text: textOf(part.refusal, `${at}.refusal`) };
  if (type === 'input_image') {
    if (isGiven(part.file_id)) throw unable(`${at}.file_id`, 'which has no stored files. Send "image_url".');
    const url = textOf(part.image_url, `${at}.image_url`);
    return { type: 'image_url', image_url: { url, ...((detail === 'low' || detail === 'high') && { detail }) } };
  }
  if (type === 'input_file') {
    const stored = ['file_id', 'file_url'].find((name) => isGiven(part[name]));
    if (stored) throw unable(`${at}.${stored}`, 'which only takes the bytes of files. Send "file_data".');
    const { filename, file_data: data } = part;
    return { type: 'file', file: { ...(isGiven(filename) && { filename }), file_data: data } };
  }
  if (type === 'input_audio') return { type, input_audio: part.input_audio };
  throw unable(`${at}.type`, `which has no parts of the type ${nameOf(type)}.`);
}

/** A plain text if there is nothing else: many servers of the format accept no list. */
function contentOf(parts: readonly JsonRecord[]): unknown {
  return parts.every(({ type }) => type === 'text') ? parts.map(({ text }) => text).join('\n') : parts;
}

function textsOf(parts: readonly JsonRecord[], at: string): unknown[] {
  const other = parts.findIndex(({ type }) => type !== 'text');
  if (other >= 0) throw unable(`${at}[${other}].type`, 'which has only text in this message.');
  return parts.map(({ text }) => text);
}

interface ChatTools {
  tools: JsonRecord[];
  choice?: unknown;
  customTools: ReadonlySet<string>;
}

function toolsOf({ tools: given, tool_choice: wanted }: JsonRecord): ChatTools {
  if (isGiven(given) && !Array.isArray(given)) throw invalid('tools', 'a list of tools');
  const listed: readonly unknown[] = Array.isArray(given) ? given : [];
  const all = listed.map((tool, index) => toolOf(recordAt(tool, `tools[${index}]`), `tools[${index}].type`));
  const customTools = new Set(all.flatMap(({ name, custom }) => (custom ? [name] : [])));
  if (!isGiven(wanted)) return { tools: all.map(({ tool }) => tool), customTools };
  if (typeof wanted === 'string') return { tools: all.map(({ tool }) => tool), choice: wanted, customTools };
  const { type, name, mode, tools: allowed } = recordAt(wanted, 'tool_choice');
  if (type === 'function' || type === 'custom') {
    return { tools: all.map(({ tool }) => tool), choice: { type: 'function', function: { name } }, customTools };
  }
  if (type !== 'allowed_tools' || !Array.isArray(allowed)) {
    throw unable('tool_choice.type', `which has no choice of the type ${nameOf(type)}.`);
  }
  const names = new Set(allowed.map((one) => recordOf(one).name));
  return { tools: all.filter((one) => names.has(one.name)).map(({ tool }) => tool), choice: mode, customTools };
}

function toolOf(tool: JsonRecord, at: string): { name: string; tool: JsonRecord; custom: boolean } {
  const { type, description, parameters, strict, format } = tool;
  const name = String(tool.name);
  if (type === 'function') {
    const definition = { name, ...given({ description, parameters, strict }) };
    return { name, tool: { type: 'function', function: definition }, custom: false };
  }
  if (type !== 'custom') {
    throw unable(
      at,
      `which has no tools of the type ${nameOf(type)}. Tools of the types function and custom are possible.`,
    );
  }
  const { syntax, definition } = recordOf(format);
  const grammar = isGiven(definition) ? `The input must follow this ${syntax} grammar:\n${definition}` : undefined;
  const words = [description, grammar].filter(isGiven).join('\n\n');
  const input = { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] };
  const converted = { name, ...(words !== '' && { description: words }), parameters: input };
  return { name, tool: { type: 'function', function: converted }, custom: true };
}

function responseFormat(format: unknown): JsonRecord {
  const { type, name, schema, strict, description } = recordOf(format);
  if (type === undefined || type === 'text') return {};
  if (type === 'json_object') return { response_format: { type } };
  if (type !== 'json_schema') throw unable('text.format.type', `which has no format ${nameOf(type)}.`);
  return { response_format: { type, json_schema: { name, schema, ...given({ strict, description }) } } };
}

export function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

export function given(fields: JsonRecord): JsonRecord {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => isGiven(value)));
}

export function recordOf(value: unknown): JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonRecord) : {};
}

function recordAt(value: unknown, at: string): JsonRecord {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as JsonRecord;
  throw invalid(at, 'an object');
}

function textOf(value: unknown, at: string): string {
  if (typeof value === 'string') return value;
  throw invalid(at, 'a text');
}

function nameOf(type: unknown): string {
  return `"${String(type).slice(0, 60)}"`;
}
