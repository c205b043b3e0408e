/*
 * A request of `/v1/responses` as one of `/v1/chat/completions`, for upstreams that only have chats. What would change
 * the answer and a chat cannot express is refused: stored responses and prompts, background work, files by id. What
 * agents send by default is left out or becomes text: hosted tools, items of other kinds, encrypted thoughts; `ignored`
 * lists it. Fields that this file does not know are passed on, since servers have their own.
 */

import { GatewayError, recordOf } from '../../runtime/index.js';
import { arrangeChat, type DraftMessage, DraftWriter, type ReasoningField } from './message-order.js';
import { type ChatTools, chatTools, encodedName } from './tools.js';
import { given, invalid, isGiven, type JsonRecord, nameOf, recordAt, textOf, unable, unsupported } from './values.js';

/** How an upstream's chats differ from the usual ones. */
export interface ChatFormat {
  /** Field that limits the output. Default `max_tokens`, which servers with only this format know. */
  limitField?: string | undefined;
  /** Field of the model's thoughts in its messages, see {@link arrangeChat}. */
  reasoningField?: ReasoningField | undefined;
}

export interface ChatFromResponses extends Pick<ChatTools, 'customTools' | 'names' | 'ignored'> {
  /** Body of the chat, with the model of the request. */
  chat: JsonRecord;
}

/** Characters of an item of another kind that is kept as text. */
const MAX_ITEM_TEXT = 20_000;
/** Between texts of different items. */
const TEXTS_APART = '\n\n';
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

/** @throws GatewayError `unsupported_parameter`, `unsupported_value`, `invalid_value`, `missing_required_parameter`. */
export function chatFromResponses(request: JsonRecord, format: ChatFormat = {}): ChatFromResponses {
  const { limitField = 'max_tokens', reasoningField } = format;
  refuseStored(request);
  const { instructions, input, stream, max_output_tokens: limit, reasoning, top_logprobs: alternatives } = request;
  const { service_tier: tier, include } = request;
  const { format: textFormat, verbosity } = recordOf(request.text);
  const { effort } = recordOf(reasoning);
  const wantsLogprobs = Array.isArray(include) && include.includes('message.output_text.logprobs');
  const chatToolsOfRequest = chatTools(request);
  const { tools, choice, customTools, names } = chatToolsOfRequest;
  const ignored = [...chatToolsOfRequest.ignored];
  const passed = Object.fromEntries(Object.entries(request).filter(([name]) => !HANDLED.has(name)));
  const chat = {
    ...passed,
    messages: arrangeChat(draftsOf(instructions, input, names, ignored), reasoningField),
    ...(stream === true && { stream_options: { include_usage: true } }),
    ...(isGiven(limit) && { [limitField]: limit }),
    ...(isGiven(effort) && { reasoning_effort: effort }),
    ...(isGiven(verbosity) && { verbosity }),
    ...responseFormat(textFormat),
    ...(tools.length > 0 && { tools }),
    ...(tools.length > 0 && choice !== undefined && { tool_choice: choice }),
    ...(tools.length > 0 &&
      isGiven(request.parallel_tool_calls) && { parallel_tool_calls: request.parallel_tool_calls }),
    ...((wantsLogprobs || isGiven(alternatives)) && { logprobs: true }),
    ...(isGiven(alternatives) && { top_logprobs: alternatives }),
    ...(!USUAL_TIERS.has(tier) && { service_tier: tier }),
  };
  return { chat, customTools, names, ignored };
}

function refuseStored({ previous_response_id: previous, conversation, prompt, background }: JsonRecord): void {
  const resend = 'which stores no responses. Send the earlier items in "input" instead.';
  if (isGiven(previous)) throw unsupported('previous_response_id', resend);
  if (isGiven(conversation)) throw unsupported('conversation', resend);
  if (isGiven(prompt)) throw unsupported('prompt', 'which has no stored prompts. Send the text in "instructions".');
  if (background === true) throw unsupported('background', 'which has no work in the background.');
}

/** The messages in the order of the items. */
function draftsOf(instructions: unknown, input: unknown, names: ChatTools['names'], ignored: string[]): DraftMessage[] {
  const drafts = new DraftWriter();
  const items: readonly unknown[] = Array.isArray(input) ? input : [];
  const answered = new Set(
    items.map(recordOf).flatMap(({ type, call_id: id }) => (String(type).endsWith('_output') ? [id] : [])),
  );

  function addCall(id: unknown, name: string, args: string): void {
    drafts.addCall(id, name, args === '' ? '{}' : args);
  }

  function addResult(id: unknown, parts: readonly JsonRecord[]): void {
    const texts = parts.filter((part) => part.type === 'text').map(({ text }) => text);
    const pictures = parts.filter((part) => part.type !== 'text');
    drafts.addResult(id, texts.join('\n'), pictures);
  }

  function addMessage({ role, content }: JsonRecord, at: string): void {
    const parts = partsOf(content, `${at}.content`);
    if (role === 'assistant') {
      drafts.addText(textsOf(parts, `${at}.content`).join(''), TEXTS_APART);
      return;
    }
    if (role === 'system' || role === 'developer') {
      drafts.addSystem(textsOf(parts, `${at}.content`).join('\n'));
      return;
    }
    if (role !== 'user') throw invalid(`${at}.role`, '"user", "assistant", "system" or "developer"');
    drafts.addUser(contentOf(parts));
  }

  function think({ content, summary, encrypted_content: encrypted }: JsonRecord, at: string): void {
    const texts = [content, summary]
      .map((list) => (Array.isArray(list) ? list.map((part) => recordOf(part).text) : []))
      .find((list) => list.some((text) => typeof text === 'string' && text !== ''));
    if (texts) drafts.addThought(texts.filter((text) => typeof text === 'string' && text !== '').join('\n\n'));
    else if (isGiven(encrypted)) ignored.push(`${at}.encrypted_content`);
  }

  function addItem(item: JsonRecord, at: string): void {
    const { type = item.role === undefined ? undefined : 'message', call_id: id } = item;
    if (type === 'message') addMessage(item, at);
    else if (type === 'function_call') addCall(id, encodedName(item, names), textOf(item.arguments, `${at}.arguments`));
    else if (type === 'custom_tool_call') {
      addCall(id, encodedName(item, names), JSON.stringify({ input: textOf(item.input, `${at}.input`) }));
    } else if (type === 'function_call_output' || type === 'custom_tool_call_output') {
      addResult(id, partsOf(item.output, `${at}.output`));
    } else if (type === 'reasoning') think(item, at);
    else if (type === undefined || type === 'item_reference') {
      if (typeof item.id === 'string' && item.id.startsWith(THOUGHT_ID)) return;
      const advice = 'Send whole items; clients that name them by id do so with "store": false.';
      throw unable(`${at}.id`, `which stores no items. ${advice}`);
    } else addOther(String(type), item);
  }

  /** Items of tools that a chat does not have: with their output they stay a call and its result, else they are text. */
  function addOther(type: string, item: JsonRecord): void {
    const { type: _type, id: _id, call_id: callId, status: _status, output, ...rest } = item;
    const isCall = type.endsWith('_call');
    if (isCall && isGiven(callId) && answered.has(callId)) {
      addCall(callId, names.encode({ name: type.slice(0, -'_call'.length) }), JSON.stringify(rest));
    } else if (type.endsWith('_call_output') && isGiven(callId)) {
      const text = typeof output === 'string' ? output : JSON.stringify(output ?? rest);
      addResult(callId, [{ type: 'text', text: text.slice(0, MAX_ITEM_TEXT) }]);
    } else if (isCall)
      drafts.addText(
        `[${type} ${JSON.stringify({ ...rest, ...given({ output }) }).slice(0, MAX_ITEM_TEXT)}]`,
        TEXTS_APART,
      );
    else ignored.push(`input.${type.slice(0, 40)}`);
  }

  if (isGiven(instructions)) drafts.addSystem(textOf(instructions, 'instructions'));
  if (typeof input === 'string') drafts.addUser(input);
  else if (Array.isArray(input)) {
    for (const [index, item] of input.entries()) addItem(recordAt(item, `input[${index}]`), `input[${index}]`);
  } else if (isGiven(input)) throw invalid('input', 'a text or a list of items');
  else throw new GatewayError('missing_required_parameter', 'The field "input" is required.', { param: 'input' });
  return drafts.end();
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

function responseFormat(format: unknown): JsonRecord {
  const { type, name, schema, strict, description } = recordOf(format);
  if (type === undefined || type === 'text') return {};
  if (type === 'json_object') return { response_format: { type } };
  if (type !== 'json_schema') throw unable('text.format.type', `which has no format ${nameOf(type)}.`);
  return { response_format: { type, json_schema: { name, schema, ...given({ strict, description }) } } };
}
