import {
  asArray,
  asRecord,
  GatewayError,
  type JsonRecord,
  markNumbers,
  restoreNumbers,
  tryParseJson,
} from 'mediagate/plugin';

/*
 * Converts a request of `/v1/chat/completions` to Anthropic's format. What that format cannot express is refused; hints
 * that change no promise of the answer are dropped: `seed`, `verbosity`, `prediction`, `store`, `metadata` and the
 * `prompt_cache_*` fields. Messages of the system come first there, so that later ones move to the beginning.
 */

/** How a model is asked to think. */
export interface ThinkingOptions {
  /** `adaptive`: by an effort. `budget`: by a number of tokens, as older models know it. `none`: it does not think. */
  thinking: 'adaptive' | 'budget' | 'none';
  /** Most tokens of an answer if the request does not say. */
  maxOutputTokens: number;
  /** Whether tokens are only counted. Default false. */
  onlyCounts?: boolean;
}

/** Tokens of thinking by effort, for models that know no efforts. */
const BUDGETS: Readonly<Record<string, number>> = {
  minimal: 1_024,
  low: 4_096,
  medium: 10_240,
  high: 24_576,
  xhigh: 32_768,
  max: 65_536,
};
const MIN_BUDGET = 1_024;
const IMAGE_DATA = /^data:(image\/(?:jpeg|png|gif|webp));base64,/i;
const PDF_DATA = /^data:application\/pdf;base64,/i;
const TEXT_DATA = /^data:text\/plain(?:;charset=utf-8)?;base64,/i;

/** Fields without an equivalent, and the values that change nothing. */
const REFUSED: readonly (readonly [name: string, harmless: readonly unknown[]])[] = [
  ['n', [1]],
  ['logprobs', [false]],
  ['top_logprobs', [0]],
  ['logit_bias', []],
  ['frequency_penalty', [0]],
  ['presence_penalty', [0]],
  ['audio', []],
  ['web_search_options', []],
  ['functions', []],
  ['function_call', []],
];

/** Fields of `/v1/messages/count_tokens`. */
const COUNTED = ['system', 'messages', 'tools', 'tool_choice', 'thinking', 'output_config'];

/**
 * @param body A chat as JSON.
 * @param model Public name of the model.
 * @returns A body of `/v1/messages`, or of `/v1/messages/count_tokens`.
 * @throws GatewayError `unsupported_parameter`, `unsupported_value`, `invalid_value`, `missing_required_parameter`.
 */
export function messageBody(body: Uint8Array, model: string, options: ThinkingOptions): Buffer {
  const chat: unknown = JSON.parse(markNumbers(Buffer.from(body).toString('utf8')));
  const whole = encodeMessage(recordAt(chat, 'The body'), options);
  const counted = Object.entries(whole).filter(([name]) => COUNTED.includes(name));
  const message = options.onlyCounts ? Object.fromEntries(counted) : whole;
  return Buffer.from(restoreNumbers(JSON.stringify({ model, ...message })));
}

function encodeMessage(chat: JsonRecord, options: ThinkingOptions): JsonRecord {
  for (const [name, harmless] of REFUSED) {
    const value = chat[name];
    if (isSent(value) && !harmless.includes(value) && !isEmpty(value)) refuseParameter(name);
  }
  const { temperature, top_p: topP, top_k: topK, stop, stream, service_tier: tier } = chat;
  const stated = [chat.max_completion_tokens, chat.max_tokens].filter(isSent);
  for (const value of stated) if (!isCount(value)) refuse('max_completion_tokens', 'a whole number above 0');
  const maxTokens = Math.max(0, ...(stated as number[])) || options.maxOutputTokens;
  if (isSent(temperature) && !(Number(temperature) >= 0 && Number(temperature) <= 1)) {
    refuse('temperature', 'a number from 0 to 1 for this model');
  }
  const { system, messages } = encodeConversation(listAt(chat.messages, 'messages'));
  const tools = encodeTools(chat);
  const output = { ...effortOf(chat, options), ...formatOf(chat.response_format) };
  const user = chat.safety_identifier ?? chat.user;
  const stops = isSent(stop) ? [stop].flat() : [];
  return {
    max_tokens: maxTokens,
    ...(system.length > 0 && { system }),
    messages,
    ...tools,
    ...thinkingOf(chat, maxTokens, options),
    ...(Object.keys(output).length > 0 && { output_config: output }),
    // One is the default, and some models refuse any other value beside their thinking.
    ...(isSent(temperature) && temperature !== 1 && { temperature }),
    ...(isSent(topP) && topP !== 1 && { top_p: topP }),
    ...(isSent(topK) && { top_k: topK }),
    ...(stops.length > 0 && { stop_sequences: stops.map((one) => textAt(one, 'stop')) }),
    ...(typeof user === 'string' && { metadata: { user_id: user } }),
    ...tierOf(tier),
    ...(stream === true && { stream }),
  };
}

function effortOf({ reasoning_effort: effort }: JsonRecord, { thinking }: ThinkingOptions): JsonRecord {
  if (!isSent(effort) || effort === 'none' || thinking !== 'adaptive') return {};
  return { effort: effort === 'minimal' ? 'low' : effort };
}

/** Without an effort, the model thinks as it does by itself. */
function thinkingOf(
  { reasoning_effort: effort, messages }: JsonRecord,
  maxTokens: number,
  { thinking }: ThinkingOptions,
): JsonRecord {
  if (!isSent(effort) || thinking === 'none') return {};
  if (effort === 'none') return { thinking: { type: 'disabled' } };
  if (thinking === 'adaptive') return { thinking: { type: 'adaptive', display: 'summarized' } };
  const budget = Math.min(BUDGETS[String(effort)] ?? MIN_BUDGET, Math.floor(maxTokens / 2));
  // A turn that began without thinking cannot go on with it, and chats do not carry what was thought.
  const isInTools = asRecord(asArray(messages)?.at(-1))?.role === 'tool';
  if (budget < MIN_BUDGET || isInTools) return {};
  return { thinking: { type: 'enabled', budget_tokens: budget } };
}

function formatOf(format: unknown): JsonRecord {
  if (!isSent(format)) return {};
  const { type, json_schema: named } = recordAt(format, 'response_format');
  if (type === 'text') return {};
  if (type !== 'json_schema') {
    refuseValue('response_format', 'this model answers in JSON by a schema only; send json_schema');
  }
  const { schema } = recordAt(named, 'response_format.json_schema');
  return { format: { type: 'json_schema', schema: recordAt(schema, 'response_format.json_schema.schema') } };
}

function tierOf(tier: unknown): JsonRecord {
  if (!isSent(tier)) return {};
  if (tier === 'auto') return { service_tier: 'auto' };
  if (tier === 'default') return { service_tier: 'standard_only' };
  return refuseValue('service_tier', 'this model has auto and default');
}

function encodeTools({ tools, tool_choice: choice, parallel_tool_calls: parallel }: JsonRecord): JsonRecord {
  const listed = isSent(tools) ? listAt(tools, 'tools') : [];
  if (listed.length === 0) return {};
  const oneAtATime = parallel === false && choice !== 'none' && { disable_parallel_tool_use: true };
  const chosen = isSent(choice) ? encodeChoice(choice) : oneAtATime ? { type: 'auto' } : undefined;
  return {
    tools: listed.map((tool, index) => encodeTool(recordAt(tool, `tools[${index}]`), `tools[${index}]`)),
    ...(chosen && { tool_choice: { ...chosen, ...oneAtATime } }),
  };
}

function encodeTool({ type, function: called, cache_control: cache }: JsonRecord, path: string): JsonRecord {
  if (type !== 'function') refuseValue(`${path}.type`, 'this model takes tools of the type function only');
  const { name, description, parameters, strict } = recordAt(called, `${path}.function`);
  const schema = isSent(parameters) ? recordAt(parameters, `${path}.function.parameters`) : { properties: {} };
  return {
    name: textAt(name, `${path}.function.name`),
    ...(isSent(description) && { description }),
    input_schema: { type: 'object', ...schema },
    ...(strict === true && { strict }),
    ...(isSent(cache) && { cache_control: cache }),
  };
}

function encodeChoice(choice: unknown): JsonRecord {
  if (choice === 'auto' || choice === 'none') return { type: choice };
  if (choice === 'required') return { type: 'any' };
  const { type, function: called } = asRecord(choice) ?? {};
  if (type !== 'function') refuseValue('tool_choice', 'this model takes auto, none, required or one function');
  return { type: 'tool', name: textAt(recordAt(called, 'tool_choice.function').name, 'tool_choice.function.name') };
}

interface Message {
  role: 'user' | 'assistant';
  content: JsonRecord[];
}

/** Messages of one role that follow one another become one; results of tools come first in it. */
function encodeConversation(chat: readonly unknown[]): { system: JsonRecord[]; messages: Message[] } {
  const system: JsonRecord[] = [];
  const messages: Message[] = [];
  const add = (role: Message['role'], content: JsonRecord[]) => {
    const last = messages.at(-1);
    if (last?.role === role) last.content.push(...content);
    else if (content.length > 0) messages.push({ role, content });
  };
  for (const [index, value] of chat.entries()) {
    const path = `messages[${index}]`;
    const message = recordAt(value, path);
    const { role, content } = message;
    if (role === 'system' || role === 'developer') system.push(...textsOf(content, `${path}.content`));
    else if (role === 'user') add('user', partsOf(content, `${path}.content`));
    else if (role === 'assistant') add('assistant', answerParts(message, path));
    else if (role === 'tool') add('user', [resultOf(message, path)]);
    else refuseValue(`${path}.role`, 'this model takes system, developer, user, assistant and tool');
  }
  return { system, messages };
}

function answerParts({ content, tool_calls: calls, audio, function_call: called }: JsonRecord, path: string) {
  if (isSent(audio) || isSent(called)) refuseValue(path, 'an answer can have a text and tool_calls only');
  const listed = isSent(calls) ? listAt(calls, `${path}.tool_calls`) : [];
  return [
    ...(isSent(content) ? textsOf(content, `${path}.content`) : []),
    ...listed.map((call, index) =>
      callOf(recordAt(call, `${path}.tool_calls[${index}]`), `${path}.tool_calls[${index}]`),
    ),
  ];
}

function callOf({ id, function: called }: JsonRecord, path: string): JsonRecord {
  const { name, arguments: input } = recordAt(called, `${path}.function`);
  return {
    type: 'tool_use',
    id: idOf(id, `${path}.id`),
    name: textAt(name, `${path}.function.name`),
    input: inputOf(textAt(input ?? '', `${path}.function.arguments`), `${path}.function.arguments`),
  };
}

function inputOf(text: string, path: string): unknown {
  return text.trim() === '' ? {} : (asRecord(tryParseJson(markNumbers(text))) ?? refuse(path, 'a JSON object'));
}

function resultOf({ tool_call_id: id, content }: JsonRecord, path: string): JsonRecord {
  return {
    type: 'tool_result',
    tool_use_id: idOf(id, `${path}.tool_call_id`),
    ...(isSent(content) && { content: partsOf(content, `${path}.content`) }),
  };
}

/** The format allows fewer characters; the same id becomes the same one. */
function idOf(value: unknown, path: string): string {
  return textAt(value, path).replace(/[^a-zA-Z0-9_-]/g, '_');
}

function partsOf(content: unknown, path: string): JsonRecord[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }];
  return listAt(content, path).flatMap((part, index) => {
    const at = `${path}[${index}]`;
    const { cache_control: cache, ...record } = recordAt(part, at);
    return encodePart(record, at).map((one) => (isSent(cache) ? { ...one, cache_control: cache } : one));
  });
}

/** Only texts. */
function textsOf(content: unknown, path: string): JsonRecord[] {
  const parts = partsOf(content, path);
  for (const { type } of parts) if (type !== 'text') refuseValue(path, 'only a user can send images and files');
  return parts;
}

function encodePart(part: JsonRecord, path: string): JsonRecord[] {
  const { type } = part;
  if (type === 'text' || type === 'refusal') {
    const text = textAt(part[type], `${path}.${type}`);
    return text === '' ? [] : [{ type: 'text', text }];
  }
  if (type === 'image_url') return [imageOf(part.image_url, `${path}.image_url`)];
  if (type === 'file') return [fileOf(recordAt(part.file, `${path}.file`), `${path}.file`)];
  return refuseValue(`${path}.type`, 'this model takes parts of the type text, image_url and file');
}

function imageOf(value: unknown, path: string): JsonRecord {
  const url = textAt(asRecord(value)?.url ?? value, `${path}.url`);
  if (/^https?:\/\//i.test(url)) return { type: 'image', source: { type: 'url', url } };
  const mediaType = IMAGE_DATA.exec(url)?.[1]?.toLowerCase();
  if (mediaType === undefined) {
    refuse(`${path}.url`, 'an http or https address, or a data URI of a JPEG, PNG, GIF or WebP image in base64');
  }
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data: dataOf(url) } };
}

function fileOf({ file_data: data, filename: title, file_id: id }: JsonRecord, path: string): JsonRecord {
  if (isSent(id)) refuseValue(`${path}.file_id`, 'files are not kept for this model; send file_data');
  const uri = textAt(data, `${path}.file_data`);
  const named = typeof title === 'string' && title !== '' && { title };
  if (PDF_DATA.test(uri)) {
    return { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: dataOf(uri) }, ...named };
  }
  if (!TEXT_DATA.test(uri)) refuse(`${path}.file_data`, 'a data URI of a PDF or a plain text in base64');
  const text = Buffer.from(dataOf(uri), 'base64').toString('utf8');
  return { type: 'document', source: { type: 'text', media_type: 'text/plain', data: text }, ...named };
}

function dataOf(uri: string): string {
  return uri.slice(uri.indexOf(',') + 1);
}

function isSent(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

function isCount(value: unknown): boolean {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}

function recordAt(value: unknown, path: string): JsonRecord {
  return asRecord(value) ?? refuse(path, 'an object');
}

function listAt(value: unknown, path: string): readonly unknown[] {
  if (isSent(value)) return Array.isArray(value) ? value : refuse(path, 'a list');
  throw new GatewayError('missing_required_parameter', `${path} is missing.`, { param: path });
}

function textAt(value: unknown, path: string): string {
  return typeof value === 'string' ? value : refuse(path, 'a text');
}

function refuse(param: string, accepted: string): never {
  throw new GatewayError('invalid_value', `${param} must be ${accepted}.`, { param });
}

function refuseValue(param: string, why: string): never {
  throw new GatewayError('unsupported_value', `${param}: ${why}.`, { param });
}

function refuseParameter(param: string): never {
  const message = `${param} is not supported by this model, whose upstream has Anthropic's format.`;
  throw new GatewayError('unsupported_parameter', message, { param });
}
