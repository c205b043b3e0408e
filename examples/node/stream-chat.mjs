// A streamed chat without a package: node stream-chat.mjs "What is a tug?"
import { setTimeout as sleep } from 'node:timers/promises';

const url = process.env.MEDIAGATE_URL ?? 'http://127.0.0.1:8787';
const key = process.env.MEDIAGATE_API_KEY;
if (!key) throw new Error('Set MEDIAGATE_API_KEY to a key of the gateway.');

/** Sends the request again after a 429 or 503, when the answer says how long to wait. */
async function post(route, body) {
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(url + route, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (response.ok) return response;
    const { error } = await response.json();
    const seconds = Number(response.headers.get('retry-after'));
    if (attempt === 3 || !seconds || ![429, 503].includes(response.status))
      throw new Error(`${response.status} ${error.code}: ${error.message} (request ${error.request_id})`);
    await sleep(seconds * 1000);
  }
}

/** The data of each server-sent event. */
async function* eventsOf(response) {
  let buffer = '';
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    buffer += text;
    const lines = buffer.split('\n');
    buffer = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data: ')) yield line.slice('data: '.length);
  }
}

const content = process.argv[2] ?? 'Ahoy!';
const response = await post('/v1/chat/completions', {
  model: 'm-5.5',
  messages: [{ role: 'user', content }],
  stream: true,
});
for await (const data of eventsOf(response)) {
  if (data === '[DONE]') break;
  const { choices, error } = JSON.parse(data);
  // A stream that breaks off ends with an event that has `error`.
  if (error) throw new Error(`${error.code}: ${error.message}`);
  process.stdout.write(choices[0]?.delta.content ?? '');
}
console.log();
