// A web page that chats. This server keeps the API key, so the page never has it: node server.mjs, then open the address.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

const url = process.env.MEDIAGATE_URL ?? 'http://127.0.0.1:8787';
const key = process.env.MEDIAGATE_API_KEY;
if (!key) throw new Error('Set MEDIAGATE_API_KEY to a key of the gateway.');
const MAX_BYTES = 16_384;

async function readText(request) {
  let text = '';
  for await (const chunk of request.setEncoding('utf8')) {
    text += chunk;
    if (text.length > MAX_BYTES) throw new Error('The message is too long.');
  }
  return text;
}

/** Only the text of the message comes from the page: model, limits and key are decided here. */
async function chat(request, response) {
  const content = await readText(request);
  const gone = new AbortController();
  // When the visitor leaves, the gateway stops the work of the model.
  response.on('close', () => gone.abort());
  const answer = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm-5.5', stream: true, max_tokens: 500, messages: [{ role: 'user', content }] }),
    signal: gone.signal,
  });
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' });
  await pipeline(Readable.fromWeb(answer.body), response);
}

async function answer(request, response) {
  if (request.method === 'POST' && request.url === '/chat') return await chat(request, response);
  const page = await readFile(new URL('index.html', import.meta.url));
  response.writeHead(request.url === '/' ? 200 : 404, { 'content-type': 'text/html; charset=utf-8' }).end(page);
}

const server = createServer((request, response) => {
  answer(request, response).catch((error) => {
    console.error(error.message);
    if (!response.headersSent) response.writeHead(502);
    response.end();
  });
});
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
  console.log(`Open http://127.0.0.1:${server.address().port}`);
});
