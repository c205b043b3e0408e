import type { HttpAnswer } from '../support/gateway-process.js';
import type { DemoPart, Stage } from './stage.js';

const PROMPTS = [
  { prompt: 'A tug in the harbour of Ostend at dawn', size: '1024x1024' },
  { prompt: 'The same tug, seen from the lighthouse at noon', size: '1536x1024' },
  { prompt: 'A poster: harbour days, thirty years of tugs', size: '1024x1536' },
];

/** Three jobs, each shown as soon as it is done. */
export const imagePart: DemoPart = {
  title: 'Three pictures by three jobs    POST /v1/images/jobs, GET /v1/images/jobs/{id}?wait=60',
  async play(stage) {
    const { gateway, key, terminal, keep } = stage;
    terminal.line(
      'No upstream is configured, so a drawing made here stands in for the model, and says so in the picture.',
    );
    const began = performance.now();
    const jobs = await Promise.all(PROMPTS.map((body) => submit(stage, { model: 'gen-img-2', ...body })));
    terminal.line(`  ${jobs.length} jobs accepted after ${Math.round(performance.now() - began)} ms`);
    await Promise.all(
      jobs.map(async ({ json: { id } }, index) => {
        const headers = { authorization: `Bearer ${key}` };
        const { json } = await gateway.request(`/v1/images/jobs/${id}?wait=60`, { headers });
        const [image] = json.data;
        if (!image) throw new Error(`There is no picture: ${JSON.stringify(json)}`);
        const bytes = Buffer.from(await (await fetch(image.url)).arrayBuffer());
        const file = await keep(image.filename, bytes);
        terminal.box({
          title: PROMPTS[index]?.prompt ?? '',
          note: `${json.status} after ${Math.round(performance.now() - began)} ms`,
          good: json.status === 'completed',
          rows: [
            ['job', id],
            [
              'picture',
              `${image.width} × ${image.height}, ${image.content_type}, ${image.bytes.toLocaleString('en-US')} bytes`,
            ],
            ['file', file],
          ],
        });
      }),
    );
  },
};

async function submit({ gateway, key }: Stage, body: object): Promise<HttpAnswer> {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const answer = await gateway.request('/v1/images/jobs', { method: 'POST', headers, body: JSON.stringify(body) });
  if (answer.status !== 202) throw new Error(`There is no job: ${answer.status} ${answer.text}`);
  return answer;
}
