/** The part of the demo with models. */

import { eventsOfBytes } from '../support/models/event-reading.js';
import { amount, joined } from './answer-box.js';
import type { DemoPart, Stage } from './stage.js';
import type { Wait } from './terminal.js';

const CHAT = {
  model: 'm-5.5',
  messages: [{ role: 'user', content: 'Ahoy!' }],
  stream: true,
  stream_options: { include_usage: true },
};
const SENTENCE = 'The quick brown fox jumps over the lazy dog.';
const KIBIBYTE = 1024;
/** Events after which what was said so far is shown again. */
const SHOWN_EVENTS = 8;

interface Chunk {
  choices: { delta: { content?: string } }[];
  usage?: { prompt_tokens: number; completion_tokens: number } | null;
}

/** What models answer, through the routes that their SDKs ask: a list, a chat as it is said, a sentence there and back. */
export const modelPart: DemoPart = {
  title: 'Models    GET /v1/models, POST /v1/chat/completions, POST /v1/audio/speech and /v1/audio/transcriptions',
  async play(stage) {
    const { terminal } = stage;
    terminal.line(
      process.env.TEXT_UPSTREAM_URL
        ? 'Beside the connected text model, offline engines answer.'
        : 'No models are connected here, so a mock and offline engines answer. With TEXT_UPSTREAM_URL the demo asks your text model.',
    );
    await list(stage);
    await chat(stage);
    await speakAndHear(stage);
  },
};

async function list({ gateway, key, terminal, keep }: Stage): Promise<void> {
  const began = performance.now();
  const answer = await gateway.request('/v1/models', { headers: { authorization: `Bearer ${key}` } });
  const ms = Math.round(performance.now() - began);
  const ids: string[] = answer.json.data.map(({ id }: { id: string }) => id);
  const startingWith = (prefix: string) => ids.filter((id) => id.startsWith(prefix));
  const file = await keep('models.json', JSON.stringify(answer.json, null, 2));
  const kinds = { hearing: startingWith('stt-'), sounds: startingWith('tts_'), pictures: startingWith('gen-') };
  const text = ids.filter((id) => !Object.values(kinds).some((others) => others.includes(id)));
  terminal.box({
    title: '/v1/models',
    note: `${answer.status} · ${ms} ms`,
    good: answer.status === 200,
    rows: [
      ...Object.entries({ text, ...kinds }).map(
        ([kind, names]) => [kind, `${names.length}: ${names.join(', ')}`] as const,
      ),
      ['file', file],
    ],
  });
}

async function chat({ gateway, key, terminal, keep }: Stage): Promise<void> {
  const began = performance.now();
  const elapsed = () => Math.round(performance.now() - began);
  const response = await fetch(`${gateway.url}/v1/chat/completions`, post(key, CHAT));
  if (!response.ok || !response.body) throw new Error(`No chat: ${response.status} ${await response.text()}`);
  const wait = terminal.wait('the first word is awaited');
  let firstMs = 0;
  const bytes = await read(response.body, wait, () => {
    firstMs ||= elapsed();
  }).finally(() => wait.end());
  const ms = elapsed();
  const chunks = chunksOf(bytes);
  const usage = chunks.at(-1)?.usage;
  const file = await keep('chat.txt', bytes);
  terminal.box({
    title: String(CHAT.messages[0]?.content),
    note: `${response.status} · ${ms} ms`,
    good: true,
    rows: [
      ['said', textOf(chunks)],
      ['streamed', joined([amount(chunks.length, 'event'), `the first after ${firstMs} ms`])],
      ['usage', usage ? `${usage.prompt_tokens} tokens in, ${usage.completion_tokens} out` : 'not told'],
      ['mock', response.headers.get('x-mediagate-stand-in') ?? 'none'],
      ['file', file],
    ],
  });
}

async function speakAndHear({ gateway, key, terminal, keep }: Stage): Promise<void> {
  const began = performance.now();
  const elapsed = () => Math.round(performance.now() - began);
  const wait = terminal.wait('a sentence is spoken');
  try {
    const body = { model: 'tts_v3', voice: 'nova', input: SENTENCE };
    const spoken = await fetch(`${gateway.url}/v1/audio/speech`, post(key, body));
    if (!spoken.ok) throw new Error(`No speech: ${spoken.status} ${await spoken.text()}`);
    const sound = Buffer.from(await spoken.arrayBuffer());
    const spokenMs = elapsed();
    wait.update('and listened to');
    const form = new FormData();
    form.append('model', 'stt-large-v3');
    form.append('response_format', 'verbose_json');
    form.append('file', new Blob([sound]), 'speech.mp3');
    const headers = { authorization: `Bearer ${key}` };
    const heard = await gateway.request('/v1/audio/transcriptions', { method: 'POST', headers, body: form });
    if (heard.status !== 200) throw new Error(`Not understood: ${heard.status} ${heard.text}`);
    const file = await keep('speech.mp3', sound);
    terminal.box({
      title: SENTENCE,
      note: `${heard.status} · ${elapsed()} ms`,
      good: true,
      rows: [
        [
          'spoken',
          joined([
            spoken.headers.get('content-type'),
            `${Math.round(sound.length / KIBIBYTE)} KiB`,
            `after ${spokenMs} ms`,
          ]),
        ],
        ['heard', heard.json.text],
        ['lasts', `${heard.json.duration} s`],
        ['mock', heard.headers.get('x-mediagate-stand-in') ?? 'none'],
        ['file', file],
      ],
    });
  } finally {
    wait.end();
  }
}

/** Shows what is said while it is said. */
async function read(body: ReadableStream<Uint8Array>, wait: Wait, onBytes: () => void): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) {
    onBytes();
    pieces.push(piece);
    const chunks = chunksOf(Buffer.concat(pieces));
    if (chunks.length % SHOWN_EVENTS === 0) wait.update(`${textOf(chunks)}…`);
  }
  return Buffer.concat(pieces);
}

/** Of a stream that may still go on: its last event counts when it is all here. */
function chunksOf(bytes: Buffer): Chunk[] {
  const whole = bytes.subarray(0, bytes.lastIndexOf('\n\n') + 2);
  return eventsOfBytes(whole).flatMap(({ data }) => (data === '[DONE]' ? [] : [JSON.parse(data) as Chunk]));
}

function textOf(chunks: readonly Chunk[]): string {
  return chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('');
}

function post(key: string, body: object): RequestInit {
  return {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(60_000),
  };
}
