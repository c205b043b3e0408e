import type { TextReply } from '../contracts/index.js';
import { at } from '../extraction/scraping/index.js';
import type { Wanted } from './text-contents.js';

const HEADER = /^[a-z0-9-]+$/;
const STREAM_END = /^response\.(?:completed|incomplete|failed)$/;

/** Problems of an answer, one line each. */
export function contentProblems(wanted: Wanted, reply: TextReply, body: Buffer): string[] {
  const { status, headers, upstream, upstreamModel } = reply;
  const type = headers['content-type'] ?? 'none';
  const expected = wanted.stream ? 'text/event-stream' : 'application/json';
  return [
    ...(status >= 200 && status < 300 ? [] : [`the status is ${status}`]),
    ...(type.startsWith(expected) ? [] : [`the content type is ${type}, and not ${expected}`]),
    ...Object.keys(headers)
      .filter((name) => !HEADER.test(name))
      .map((name) => `the header "${name}" is not in lower case`),
    ...Object.keys(headers)
      .filter((name) => /^(?:set-cookie|content-length|content-encoding|transfer-encoding|connection)$/.test(name))
      .map((name) => `the header ${name} is no business of a client`),
    ...(upstream === '' ? ['the upstream has no name'] : []),
    ...(upstreamModel === '' ? ['the upstream has no model'] : []),
    ...formatProblems(wanted, body),
  ];
}

function formatProblems(wanted: Wanted, body: Buffer): string[] {
  try {
    const last = lastOf(wanted, body);
    if (!wanted.stream) {
      const object = wanted.route === 'responses' ? 'response' : 'chat.completion';
      return at(last, 'object') === object ? [] : [`the answer is no ${object}`];
    }
    if (wanted.route === 'chat_completions') return last === '[DONE]' ? [] : ['the stream does not end with [DONE]'];
    return STREAM_END.test(String(at(last, 'type'))) ? [] : ['the stream has no terminal event'];
  } catch (error) {
    return [`the answer cannot be read: ${error}`];
  }
}

/** The text of the model, all chunks together. */
export function textOf({ route, stream }: Wanted, body: Buffer): string {
  const isChat = route === 'chat_completions';
  if (!stream) {
    const json: unknown = JSON.parse(body.toString());
    const text = isChat ? at(json, 'choices', 0, 'message', 'content') : at(json, 'output', 0, 'content', 0, 'text');
    return String(text);
  }
  return eventsOf(body)
    .map((event) => (isChat ? at(event, 'choices', 0, 'delta', 'content') : at(event, 'delta')))
    .filter((piece) => typeof piece === 'string')
    .join('');
}

/** As stated in the answer. */
export function usageOf(wanted: Wanted, body: Buffer): unknown {
  if (!wanted.stream) return at(lastOf(wanted, body), 'usage') ?? undefined;
  const usages = eventsOf(body).map((event) => at(event, 'usage') ?? at(event, 'response', 'usage'));
  return usages.findLast((usage) => typeof usage === 'object' && usage !== null);
}

function lastOf({ stream }: Wanted, body: Buffer): unknown {
  return stream ? eventsOf(body).at(-1) : JSON.parse(body.toString());
}

/** Data of events, parsed if it is JSON. */
function eventsOf(body: Buffer): unknown[] {
  return (
    body
      .toString()
      .split(/\r?\n\r?\n/)
      // Other line ends of Unicode do not count.
      .map((event) => /(?:^|\n)data: ?([^\r\n]*)/.exec(event)?.[1])
      .filter((data) => data !== undefined)
      .map((data) => (data === '[DONE]' ? data : JSON.parse(data)))
  );
}
