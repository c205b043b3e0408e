import type { TextRoute } from '../contracts/index.js';
import type { TextContent } from './text-definition.js';

/** The input of a request, which identifies its answer. */
export interface Wanted {
  route: TextRoute;
  stream: boolean;
  words: string;
}

/** Half of a text with characters that an encoder may change. */
const ODD_WORDS = 'Łódź "quoted" \\ 漢字 🎉 \u2028';

/** A body as callers send it, which hardly any serializer would reproduce. */
export function requestBody({ route, stream, words }: Wanted, model: string): Buffer {
  const text = JSON.stringify(words);
  const input = route === 'responses' ? `"input": ${text}` : `"messages":[ {"role":"user" , "content":${text}} ]`;
  const asksUsage = stream && route === 'chat_completions' ? ', "stream_options":{"include_usage":true}' : '';
  const odd = '"x_big":12345678901234567890.10, "x_unknown" : {"a":[1 ,2]}, "x_escaped":"\\u00e9\\/"';
  return Buffer.from(`{ ${odd},\t"model":"${model}",${input}${asksUsage}${stream ? ',"stream" : true' : ''} }\n`);
}

/** An upstream's answer with legal but rare forms. */
export function answerContent({ route, stream, words }: Wanted, model: string): TextContent {
  const text = stream ? streamOf(route, words, model) : `${wholeOf(route, words, model)}\n`;
  const contentType = stream ? 'text/event-stream; charset=utf-8' : 'application/json';
  return { route, stream, contentType, bytes: Buffer.from(text) };
}

function wholeOf(route: TextRoute, words: string, model: string): string {
  const text = JSON.stringify(`${words} ${ODD_WORDS}`);
  const head = `"model" : "${model}", "x_big":12345678901234567890`;
  if (route === 'chat_completions') {
    const choice = `{"index":0,"message":{"role":"assistant","content":${text}},"finish_reason":"stop"}`;
    const usage = '{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}';
    return `{"id":"c1","object":"chat.completion","created":1781500000,${head},"choices":[${choice}],"usage":${usage}}`;
  }
  const message = `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"output_text","text":${text}}]}`;
  const usage =
    '{"input_tokens":9,"input_tokens_details":{"cached_tokens":0},"output_tokens":3,' +
    '"output_tokens_details":{"reasoning_tokens":0},"total_tokens":12}';
  const state = '"object":"response","created_at":1781500000,"status":"completed"';
  return `{"id":"resp_1",${state},${head},"output":[${message}],"usage":${usage}}`;
}

function streamOf(route: TextRoute, words: string, model: string): string {
  const pieces = [words, ` ${ODD_WORDS}`].map((piece) => JSON.stringify(piece));
  if (route === 'chat_completions') {
    const head = `"id":"c1","object":"chat.completion.chunk","created":1781500000,"model":"${model}"`;
    const chunk = (delta: string, finish = 'null') =>
      `data: {${head},"choices":[{"index":0,"delta":{${delta}},"finish_reason":${finish}}],"usage":null}\n\n`;
    const usage = '{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}';
    return [
      ': a comment\n\n',
      ...pieces.map((piece) => chunk(`"content":${piece}`)),
      chunk('', '"stop"'),
      `data:{${head},"choices":[],"usage":${usage}}\r\n\r\n`,
      'data: [DONE]\n\n',
    ].join('');
  }
  const position = '"item_id":"msg_1","output_index":0,"content_index":0';
  const event = (type: string, number: number, fields: string) =>
    `event: ${type}\ndata: {"type":"${type}","sequence_number":${number},${fields}}\n\n`;
  const response = wholeOf(route, words, model);
  return [
    event('response.created', 0, `"response":${response.replace('completed', 'in_progress')}`),
    'event: keepalive\r\ndata: {"type":"keepalive","sequence_number":1}\r\n\r\n',
    ...pieces.map((piece, index) => event('response.output_text.delta', index + 2, `${position},"delta":${piece}`)),
    event('response.completed', 4, `"response":${response}`),
  ].join('');
}
