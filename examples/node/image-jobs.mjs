// Several images, each a durable job: node image-jobs.mjs. The files are saved in the current folder.
import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';

const url = process.env.MEDIAGATE_URL ?? 'http://127.0.0.1:8787';
const key = process.env.MEDIAGATE_API_KEY;
if (!key) throw new Error('Set MEDIAGATE_API_KEY to a key of the gateway.');

async function request(route, init = {}) {
  const response = await fetch(url + route, {
    ...init,
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...init.headers },
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${response.status} ${answer.error.code}: ${answer.error.message}`);
  return answer;
}

async function makeImage(prompt, name) {
  // Keep the Idempotency-Key with your own record of the image: the same key and body return the same job at no cost.
  const { id } = await request('/v1/images/jobs', {
    method: 'POST',
    headers: { 'idempotency-key': randomUUID() },
    body: JSON.stringify({ model: 'gen-img-2', prompt, size: '1536x1024' }),
  });
  let job;
  do job = await request(`/v1/images/jobs/${id}?wait=60`);
  while (job.status === 'queued' || job.status === 'generating');
  if (job.status !== 'completed') throw new Error(`${id} ${job.status}: ${job.error?.message}`);
  const file = await fetch(job.data[0].url);
  await writeFile(name, Buffer.from(await file.arrayBuffer()));
  console.log(`${name}: ${job.data[0].width} x ${job.data[0].height}`);
}

const times = ['dawn', 'noon', 'night'];
await Promise.all(times.map((time) => makeImage(`A tug in the harbour at ${time}`, `tug-${time}.png`)));
