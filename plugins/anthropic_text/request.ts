/*
 * Converts a request of `/v1/chat/completions` to Anthropic's format. What would change the answer and that format
 * cannot express is refused. What the vendor refuses and clients send by default is left out and listed in `ignored`:
 * sampling beside thinking, hosted tools, thinking beside a forced tool. Hints that change no promise of the answer are
 * dropped: `seed`, `verbosity`, `prediction`, `store`, `metadata` and the `prompt_cache_*` fields. Messages of the
 * system come first there, so that later ones move to the beginning.
 */

import {
  asArray,
  asRecord,
  fitToolId,
  type JsonRecord,
  markNumbers,
  restoreNumbers,
  ToolNames,
  tryParseJson,
  type Worked,
  workOn,
} from 'mediagate/plugin';
import {
  isCount,
  isEmpty,
  isSent,
  listAt,
  partsOf,
  recordAt,
  refuse,
  refuseParameter,
  refuseValue,
  textAt,
  textsOf,
} from './parts.js';

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

/** What belongs to a request in the vendor's format. */
interface MessageExtras {
  /** What was left out. */
  ignored: readonly string[];
  /** The tools in it by their names there. */
  tools: ToolNames['tools'];
}

interface HowToAsk extends ThinkingOptions {
  /** Public name of the model. */
  model: string;
}

/**
 * The body of `/v1/messages`, or of `/v1/messages/count_tokens`; a large one is made in a thread.
 * @param body A chat as JSON.
 * @throws GatewayError `unsupported_parameter`, `unsupported_value`, `invalid_value`, `missing_required_parameter`.
 */
export function messageBody(body: Uint8Array, how: HowToAsk, signal?: AbortSignal) {
  return workOn(MESSAGE, body, how, signal);
}

export function messageOfChat(body: Buffer, { model, ...options }: HowToAsk): Worked<MessageExtras> {
  const chat: unknown = JSON.parse(markNumbers(body.toString('utf8')));
  const state: Encoding = { names: new ToolNames(), ignored: new Set() };
  const whole = encodeMessage(recordAt(chat, 'The body'), options, state);
  const counted = Object.entries(whole).filter(([name]) => COUNTED.includes(name));
  const message = options.onlyCounts ? Object.fromEntries(counted) : whole;
  const text = restoreNumbers(JSON.stringify({ model, ...message }));
  return { body: text, ignored: [...state.ignored], tools: state.names.tools };
}

const MESSAGE = { module: import.meta.url, name: 'messageOfChat', run: messageOfChat };

/** What the parts of a conversion share. */
interface Encoding {
  names: ToolNames;
  ignored: Set<string>;
}

function encodeMessage(chat: JsonRecord, options: ThinkingOptions, state: Encoding): JsonRecord {
  for (const [name, harmless] of REFUSED) {
    const value = chat[name];
    if (isSent(value) && !harmless.includes(value) && !isEmpty(value)) refuseParameter(name);
  }
  const { stop, stream, service_tier: tier } = chat;
  const stated = [chat.max_completion_tokens, chat.max_tokens].filter(isSent);
  for (const value of stated) if (!isCount(value)) refuse('max_completion_tokens', 'a whole number above 0');
  const maxTokens = Math.max(0, ...(stated as number[])) || options.maxOutputTokens;
  // First, so that listed tools keep their names where earlier calls have similar ones.
  const tools = encodeTools(chat, state);
  const { system, messages } = encodeConversation(listAt(chat.messages, 'messages'), state);
  const output = { ...effortOf(chat, options), ...formatOf(chat.response_format) };
  const user = chat.safety_identifier ?? chat.user;
  const thinking = thinkingOf(chat, maxTokens, options, tools, state);
  const isThinking =
    asRecord(thinking.thinking)?.type !== undefined && asRecord(thinking.thinking)?.type !== 'disabled';
  // The vendor refuses sequences of white space.
  const stops = (isSent(stop) ? [stop].flat() : [])
    .map((one) => textAt(one, 'stop'))
    .filter((one) => one.trim() !== '');
  return {
    max_tokens: maxTokens,
    ...(system.length > 0 && { system }),
    messages,
    ...tools,
    ...thinking,
    ...(Object.keys(output).length > 0 && { output_config: output }),
    ...samplingOf(chat, isThinking, state),
    ...(stops.length > 0 && { stop_sequences: stops }),
    ...(typeof user === 'string' && { metadata: { user_id: user } }),
    ...tierOf(tier),
    ...(stream === true && { stream }),
  };
}

/**
 * One is the default of temperature and nucleus, and some models refuse any other value. A thinking model takes none of
 * them, a later one not both at once, and none a temperature above one.
 */
function samplingOf(chat: JsonRecord, isThinking: boolean, { ignored }: Encoding): JsonRecord {
  const sent = (name: string) => (isSent(chat[name]) && chat[name] !== 1 ? chat[name] : undefined);
  const [temperature, topP] = [sent('temperature'), sent('top_p')];
  const topK = isSent(chat.top_k) ? chat.top_k : undefined;
  if (temperature !== undefined && !(Number(temperature) >= 0 && Number(temperature) <= 2)) {
    refuse('temperature', 'a number from 0 to 2');
  }
  const isHot = Number(temperature) > 1;
  const taken = {
    ...(temperature !== undefined && !isThinking && !isHot && { temperature }),
    ...(topP !== undefined && !isThinking && (temperature === undefined || isHot) && { top_p: topP }),
    ...(topK !== undefined && !isThinking && { top_k: topK }),
  };
  for (const [name, value] of Object.entries({ temperature, top_p: topP, top_k: topK })) {
    if (value !== undefined && !Object.hasOwn(taken, name)) ignored.add(name);
  }
  return taken;
}

function effortOf({ reasoning_effort: effort }: JsonRecord, { thinking }: ThinkingOptions): JsonRecord {
  if (!isSent(effort) || effort === 'none' || thinking !== 'adaptive') return {};
  return { effort: effort === 'minimal' ? 'low' : effort };
}

/** Without an effort, the model thinks as it does by itself. The vendor refuses thinking beside a forced tool. */
function thinkingOf(
  { reasoning_effort: effort, messages }: JsonRecord,
  maxTokens: number,
  { thinking }: ThinkingOptions,
  tools: JsonRecord,
  { ignored }: Encoding,
): JsonRecord {
  if (!isSent(effort) || thinking === 'none') return {};
  if (effort === 'none') return { thinking: { type: 'disabled' } };
  const { type: choice } = asRecord(tools.tool_choice) ?? {};
  if (choice === 'any' || choice === 'tool') {
    ignored.add('reasoning_effort');
    return {};
  }
  if (thinking === 'adaptive') return { thinking: { type: 'adaptive', display: 'summarized' } };
  const budget = Math.min(BUDGETS[String(effort)] ?? MIN_BUDGET, Math.floor(maxTokens / 2));
  // A turn that began without thinking cannot go on with it, and chats do not carry what was thought.
  const isInTools = asRecord(asArray(messages)?.at(-1))?.role === 'tool';
  if (budget < MIN_BUDGET || isInTools) {
    ignored.add('reasoning_effort');
    return {};
  }
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

function encodeTools(
  { tools, tool_choice: choice, parallel_tool_calls: parallel }: JsonRecord,
  state: Encoding,
): JsonRecord {
  const listed = (isSent(tools) ? listAt(tools, 'tools') : []).map((tool, index) => recordAt(tool, `tools[${index}]`));
  const encoded = listed.flatMap((tool, index) => {
    if (tool.type === 'function') return [encodeTool(tool, `tools[${index}]`, state)];
    // Agents send hosted tools by default, and work without them.
    state.ignored.add(`tools.${String(tool.type).slice(0, 40)}`);
    return [];
  });
  if (encoded.length === 0) {
    if (listed.length > 0 && isSent(choice) && choice !== 'auto' && choice !== 'none') state.ignored.add('tool_choice');
    return {};
  }
  const oneAtATime = parallel === false && choice !== 'none' && { disable_parallel_tool_use: true };
  const chosen = (isSent(choice) && encodeChoice(choice, state)) || (oneAtATime ? { type: 'auto' } : undefined);
  return { tools: encoded, ...(chosen && { tool_choice: { ...chosen, ...oneAtATime } }) };
}

function encodeTool(
  { function: called, cache_control: cache }: JsonRecord,
  path: string,
  { names }: Encoding,
): JsonRecord {
  const { name, description, parameters, strict } = recordAt(called, `${path}.function`);
  const schema = isSent(parameters) ? recordAt(parameters, `${path}.function.parameters`) : { properties: {} };
  return {
    name: names.encode({ name: textAt(name, `${path}.function.name`) }),
    ...(isSent(description) && description !== '' && { description }),
    input_schema: { ...schema, type: 'object' },
    ...(strict === true && { strict }),
    ...(isSent(cache) && { cache_control: cache }),
  };
}

/** Undefined for a choice of a tool that was left out, or of a kind that the format does not have. */
function encodeChoice(choice: unknown, { names, ignored }: Encoding): JsonRecord | undefined {
  if (choice === 'auto' || choice === 'none') return { type: choice };
  if (choice === 'required') return { type: 'any' };
  const { type, function: called } = asRecord(choice) ?? {};
  if (type === 'function') {
    const name = textAt(recordAt(called, 'tool_choice.function').name, 'tool_choice.function.name');
    return { type: 'tool', name: names.encode({ name }) };
  }
  if (typeof choice === 'string') refuseValue('tool_choice', 'this model takes auto, none, required or one function');
  ignored.add('tool_choice');
  return undefined;
}

interface Message {
  role: 'user' | 'assistant';
  content: JsonRecord[];
}

/**
 * Messages of one role that follow one another become one; results of tools come first in it. The vendor refuses empty
 * texts, and white space at the end of an answer.
 */
function encodeConversation(chat: readonly unknown[], state: Encoding): { system: JsonRecord[]; messages: Message[] } {
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
    else if (role === 'assistant') add('assistant', answerParts(message, path, state));
    else if (role === 'tool') add('user', [resultOf(message, path)]);
    else refuseValue(`${path}.role`, 'this model takes system, developer, user, assistant and tool');
  }
  const last = messages.at(-1);
  const words = last?.content.at(-1);
  if (last?.role === 'assistant' && typeof words?.text === 'string') {
    last.content[last.content.length - 1] = { ...words, text: words.text.trimEnd() };
  }
  for (const message of messages) {
    const isResult = ({ type }: JsonRecord) => type === 'tool_result';
    message.content = [...message.content.filter(isResult), ...message.content.filter((part) => !isResult(part))];
  }
  return { system, messages };
}

function answerParts(message: JsonRecord, path: string, state: Encoding): JsonRecord[] {
  const { content, tool_calls: calls, audio, function_call: called } = message;
  if (isSent(audio)) refuseValue(path, 'an answer can have a text and tool_calls only');
  const listed = isSent(calls) ? listAt(calls, `${path}.tool_calls`) : [];
  const older = isSent(called) ? [{ id: recordAt(called, `${path}.function_call`).name, function: called }] : [];
  const parts = isSent(content) ? partsOf(content, `${path}.content`) : [];
  const own = parts.map(({ name, ...part }) =>
    part.type === 'tool_use' ? { ...part, name: state.names.encode({ name: String(name) }) } : part,
  );
  for (const { type } of own) {
    if (type !== 'text' && type !== 'tool_use' && type !== 'thinking') {
      refuseValue(`${path}.content`, 'only a user can send images and files');
    }
  }
  return [
    ...own,
    ...[...listed, ...older].map((call, index) =>
      callOf(recordAt(call, `${path}.tool_calls[${index}]`), `${path}.tool_calls[${index}]`, state),
    ),
  ];
}

function callOf({ id, function: called }: JsonRecord, path: string, { names }: Encoding): JsonRecord {
  const { name, arguments: input } = recordAt(called, `${path}.function`);
  return {
    type: 'tool_use',
    id: idOf(id, `${path}.id`),
    name: names.encode({ name: textAt(name, `${path}.function.name`) }),
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
  return fitToolId(textAt(value, path));
}
