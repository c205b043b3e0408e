/** The part of the demo with images. */

import { setTimeout as sleep } from 'node:timers/promises';
import { sampleImage } from '../support/images/sample-images.js';
import type { HttpAnswer } from '../support/processes/gateway-process.js';
import { joined } from './answer-box.js';
import type { DemoPart, Stage } from './stage.js';

/** More often than a client is asked to, so that there is something to see. */
const POLL_MS = 400;
const KIBIBYTE = 1024;

interface Picture {
  name: string;
  prompt: string;
  size: string;
  /** Colour and shape of an input image. */
  reference?: { width: number; height: number; seed: number };
}

const PICTURES: readonly Picture[] = [
  { name: 'harbour', prompt: 'A tug in the harbour of Ostend at dawn, gulls above the pier', size: '1024x1024' },
  { name: 'mountain', prompt: 'A narrow path up to a hut below snowy mountains', size: '1024x1536' },
  {
    name: 'teapot',
    prompt: 'The glaze of this tile on a stoneware teapot, in the garden',
    size: '1536x1024',
    reference: { width: 640, height: 480, seed: 5 },
  },
];

interface Submitted {
  picture: Picture;
  id: string;
  latest: HttpAnswer;
}

/** Three requests, three durable jobs, three pictures, each shown as soon as it is there. */
export const imagePart: DemoPart = {
  title: 'Pictures as jobs    POST /v1/images/jobs, GET /v1/images/jobs/{id}',
  async play(stage) {
    const { terminal } = stage;
    terminal.line(
      'No image model is set up here, so a mock draws sketches. Set IMAGE_UPSTREAM_URL to connect a model.',
    );
    const began = performance.now();
    const elapsed = () => Math.round(performance.now() - began);
    let open = await Promise.all(PICTURES.map((picture) => submit(stage, picture)));
    terminal.line(`  ${open.length} jobs accepted after ${elapsed()} ms; a crash from here on would cost none of them`);
    while (open.length > 0) {
      const wait = terminal.wait(progressOf(open));
      let ended: Submitted[] = [];
      try {
        while (ended.length === 0) {
          await sleep(POLL_MS);
          open = await Promise.all(open.map((job) => poll(stage, job)));
          ended = open.filter(({ latest }) => latest.json.pending === 0);
          if (ended.length === 0) wait.update(progressOf(open));
        }
      } finally {
        wait.end();
      }
      for (const job of ended) await show(stage, job, elapsed());
      open = open.filter((job) => !ended.includes(job));
    }
  },
};

async function submit({ gateway, key }: Stage, picture: Picture): Promise<Submitted> {
  const { prompt, size, reference } = picture;
  const input = reference && (await sampleImage({ ...reference, format: 'jpeg' }));
  const image = input && { image: `data:image/jpeg;base64,${input.toString('base64')}` };
  const latest = await gateway.request('/v1/images/jobs', {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', 'idempotency-key': picture.name },
    body: JSON.stringify({ model: 'gen-img-2', prompt, size, ...image }),
  });
  if (latest.status !== 202) throw new Error(`The job was refused: ${latest.status} ${latest.text}`);
  return { picture, id: latest.json.id, latest };
}

async function poll({ gateway, key }: Stage, job: Submitted): Promise<Submitted> {
  const latest = await gateway.request(`/v1/images/jobs/${job.id}`, { headers: { authorization: `Bearer ${key}` } });
  if (latest.status !== 200) throw new Error(`The job cannot be polled: ${latest.status} ${latest.text}`);
  return { ...job, latest };
}

function progressOf(jobs: readonly Submitted[]): string {
  const made = PICTURES.length - jobs.length;
  const states = jobs.map(({ picture, latest }) => `${picture.name} ${latest.json.status}`);
  return `${made} of ${PICTURES.length} made · ${states.join(' · ')}`;
}

async function show({ terminal, keep }: Stage, { picture, id, latest }: Submitted, ms: number): Promise<void> {
  const { status, error, data, items } = latest.json;
  if (status !== 'completed') throw new Error(`The job ${id} is ${status}: ${error?.code} ${error?.message}`);
  const [{ url, width, height, bytes, content_type: contentType }] = data;
  const response = await fetch(url);
  if (!response.ok) throw new Error(`The picture cannot be had: ${response.status}`);
  const file = await keep(`${picture.name}.png`, Buffer.from(await response.arrayBuffer()));
  terminal.box({
    title: picture.prompt,
    note: `${status} · ${ms} ms`,
    good: true,
    rows: [
      ['job', joined([id, items[0].attempts > 1 && `${items[0].attempts} runs`])],
      ['picture', joined([`${width} × ${height}`, contentType, `${Math.round(bytes / KIBIBYTE)} KiB`])],
      ['input', picture.reference ? `${picture.reference.width} × ${picture.reference.height} image/jpeg` : 'none'],
      ['public', url],
      ['file', file],
    ],
  });
}
