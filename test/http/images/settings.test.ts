/** Image settings in JSON and in forms. */

import { createOpenAI } from '@ai-sdk/openai';
import { generateImage } from 'ai';
import { expect } from 'chai';
import openaiImage from 'mediagate/plugins/openai_image';
import sketchImage from 'mediagate/plugins/sketch_image';
import OpenAI, { toFile } from 'openai';
import { type ImageUpstream, startImageUpstream } from '../../support/images/image-upstream.js';
import { sampleImage } from '../../support/images/sample-images.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';
import { imageClient } from './client.js';

const MODEL = 'gen-img-2';
const FURTHER = {
  seed: 42,
  steps: 20,
  guidance_scale: 7.5,
  strength: 0.6,
  negative_prompt: 'blurry',
  sampler: 'euler',
};

describe('settings and forms of images', () => {
  let upstream: ImageUpstream;
  let picture: Buffer;

  before(async () => {
    upstream = await startImageUpstream();
    picture = await sampleImage({ width: 60, height: 40, format: 'png', seed: 1 });
  });
  beforeEach(() => upstream.reset());
  after(() => upstream.close());

  async function using<Result>(
    more: object,
    work: (app: ListeningApp, key: string) => Promise<Result>,
  ): Promise<Result> {
    const upstreams = [{ url: upstream.baseUrl, ...more }];
    const app = await startApp({
      gateway: {
        plugins: [{ use: openaiImage, options: { upstreams } }],
        trustedOrigins: [upstream.origin],
        services: { http: undefined },
      },
    });
    try {
      return await work(app, await app.makeKey({ grants: ['images'] }));
    } finally {
      await app.close();
    }
  }

  it('answers edits in base64 to the AI SDK and OpenAI clients, as a link to others, and as requested', async () => {
    await using({ model: 'flux' }, async (app, key) => {
      const { image: made } = await generateImage({
        model: createOpenAI({ apiKey: key, baseURL: `${app.url}/v1` }).image(MODEL),
        prompt: { text: 'The same at night', images: [new Uint8Array(picture)] },
        maxRetries: 0,
      });
      expect(made.uint8Array.length).to.be.greaterThan(100);
      const openai = new OpenAI({ apiKey: key, baseURL: `${app.url}/v1`, maxRetries: 0 });
      const edit = async (more: object = {}) => {
        const image = await toFile(picture, 'a.png', { type: 'image/png' });
        const { data = [] } = await openai.images.edit({ model: MODEL, prompt: 'Night', image, ...more });
        return [data[0]?.b64_json !== undefined, data[0]?.url !== undefined];
      };
      expect(await edit()).to.deep.equal([true, true]);
      expect(await edit({ response_format: 'url' })).to.deep.equal([false, true]);
      expect(await edit({ response_format: 'b64_json' })).to.deep.equal([true, false]);
      const { data = [] } = await openai.images.generate({ model: MODEL, prompt: 'Night' });
      expect([data[0]?.b64_json, typeof data[0]?.url]).to.deep.equal([undefined, 'string']);
    });
  });

  it('passes settings of local servers through, and lists unknown ones', async () => {
    await using({ model: 'flux-dev' }, async (app, key) => {
      const client = imageClient(app, key);
      const made = await client.generate({
        model: MODEL,
        prompt: 'A tug',
        ...FURTHER,
        loras: ['x'],
        aspect_ratio: '1:1',
      });
      expect([made.status, made.headers.get('x-ignored-params')]).to.deep.equal([200, 'loras, aspect_ratio']);
      expect(upstream.requests[0]?.members).to.deep.include(FURTHER);
      const form = new FormData();
      const fields = { model: MODEL, prompt: 'Night', ...FURTHER, rotate: 'no' };
      for (const [name, value] of Object.entries(fields)) form.append(name, String(value));
      form.append('image', new File([new Uint8Array(picture)], 'a.png', { type: 'image/png' }));
      const headers = { authorization: `Bearer ${key}` };
      const edited = await app.request('/v1/images/edits', { method: 'POST', headers, body: form });
      expect([edited.status, edited.headers.get('x-ignored-params')]).to.deep.equal([200, 'rotate']);
      expect(upstream.requests[1]?.members).to.deep.include({ seed: '42', negative_prompt: 'blurry', strength: '0.6' });
      const job = await client.submit({ model: MODEL, prompt: 'A tug', seed: 7, tiling: true });
      expect([job.status, job.headers.get('x-ignored-params')]).to.deep.equal([202, 'tiling']);
      for (const [name, value] of [
        ['seed', { a: 1 }],
        ['steps', true],
        ['negative_prompt', ['x']],
      ] as const) {
        const refused = await client.generate({ model: MODEL, prompt: 'A tug', [name]: value });
        expect([refused.status, refused.json.error.code, refused.json.error.param]).to.deep.equal([
          400,
          'invalid_value',
          name,
        ]);
      }
    });
  });

  it('names settings that the model refuses, and passes them if the operator allows it', async () => {
    const names = Object.keys(FURTHER).join(', ');
    await using({}, async (app, key) => {
      const made = await imageClient(app, key).generate({ model: MODEL, prompt: 'A tug', ...FURTHER });
      expect([made.status, made.headers.get('x-ignored-params')]).to.deep.equal([200, names]);
      expect(upstream.requests[0]?.members).to.not.have.any.keys(...Object.keys(FURTHER));
    });
    upstream.reset();
    await using({ takes: ['seed'] }, async (app, key) => {
      const made = await imageClient(app, key).generate({ model: MODEL, prompt: 'A tug', ...FURTHER });
      expect(made.headers.get('x-ignored-params')).to.equal(names.replace('seed, ', ''));
      expect(upstream.requests[0]?.members).to.deep.include({ seed: 42 });
    });
  });

  it('marks answers and files of a mock', async () => {
    const app = await startApp({ gateway: { plugins: [{ use: sketchImage }] } });
    try {
      const key = await app.makeKey({ grants: ['images'] });
      const client = imageClient(app, key);
      const mock = (answer: { headers: Headers }) => answer.headers.get('x-mediagate-stand-in');
      const made = await client.generate({ model: MODEL, prompt: 'A tug' });
      expect([made.status, mock(made)]).to.deep.equal([200, 'sketch_image']);
      const { url } = made.json.data[0];
      for (const method of ['GET', 'HEAD'])
        expect(mock(await app.request(new URL(url).pathname, { method }))).to.equal('sketch_image');
      const job = await client.submit();
      expect([job.status, mock(job)]).to.deep.equal([202, 'sketch_image']);
      const ended = await client.ended(job.json.id);
      expect([ended.status, mock(ended)], ended.text).to.deep.equal([200, 'sketch_image']);
      const headers = { authorization: `Bearer ${key}` };
      expect(mock(await app.request(`/v1/images/jobs/${job.json.id}/events`, { headers }))).to.equal('sketch_image');
      const streamed = await client.generate({ model: MODEL, prompt: 'A tug', stream: true, partial_images: 1 });
      expect([streamed.status, mock(streamed)]).to.deep.equal([200, 'sketch_image']);
      const images = [{ image_url: `data:image/png;base64,${picture.toString('base64')}` }];
      const edited = await app.request('/v1/images/edits', {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: JSON.stringify({ model: MODEL, prompt: 'Night', images }),
      });
      expect([edited.status, mock(edited)]).to.deep.equal([200, 'sketch_image']);
      const waiting = await client.generate({ model: MODEL, prompt: 'Later' }, { prefer: 'respond-async' });
      expect([waiting.status, mock(waiting)]).to.deep.equal([202, 'sketch_image']);
    } finally {
      await app.close();
    }
    await using({}, async (real, key) => {
      const made = await imageClient(real, key).generate({ model: MODEL, prompt: 'A tug' });
      expect([made.status, made.headers.get('x-mediagate-stand-in')]).to.deep.equal([200, null]);
    });
  });
});
