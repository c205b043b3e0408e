/** Fields of image requests: defaults, sizes, input images, refusals. */

import { expect } from 'chai';
import type { ImageCall } from 'mediagate';
import { inventedImage } from '../../support/images/invented-image.js';
import { sampleImage } from '../../support/images/sample-images.js';
import type { ListeningApp } from '../http/listening-app.js';
import { type ImageClient, imageClient, PROMPT, startImageApp } from './client.js';

describe('image requests', () => {
  let app: ListeningApp;
  let client: ImageClient;
  let calls: ImageCall[];
  let png: string;

  before(async () => {
    calls = [];
    app = await startImageApp({
      generate: async (call) => {
        calls.push(call);
        return inventedImage(call);
      },
    });
    client = imageClient(app, await app.makeKey({ grants: ['images'], rpm: 1_000 }));
    const bytes = await sampleImage({ width: 40, height: 30, format: 'png', seed: 2 });
    png = `data:image/png;base64,${bytes.toString('base64')}`;
  });
  after(() => app.close());
  beforeEach(() => {
    calls.length = 0;
  });

  /** The call that the model got for this body. */
  async function callFor(body: object): Promise<ImageCall> {
    const { status, text } = await client.generate({ ...PROMPT, ...body });
    expect(status, text).to.equal(200);
    const [call] = calls;
    if (!call) throw new Error('the model was not asked');
    return call;
  }

  const link = 'https://pictures.example/a.png';
  const refused: [object, string, string][] = [
    [{ model: undefined }, 'missing_required_parameter', 'model'],
    [{ model: 7 }, 'invalid_value', 'model'],
    [{ model: 'dall-e-3' }, 'model_not_supported', 'model'],
    [{ prompt: undefined }, 'missing_required_parameter', 'prompt'],
    [{ prompt: null }, 'missing_required_parameter', 'prompt'],
    [{ prompt: '' }, 'invalid_value', 'prompt'],
    [{ prompt: ' \n' }, 'invalid_value', 'prompt'],
    [{ prompt: 'x'.repeat(32_001) }, 'invalid_value', 'prompt'],
    [{ prompt: ['x'] }, 'invalid_value', 'prompt'],
    ...[0, 2, 1.5, '1', true, [], -1].map((n): [object, string, string] => [{ n }, 'invalid_value', 'n']),
    ...[
      '1024',
      '1024 x 1024',
      'AUTO',
      '0x1024',
      '01024x1024',
      '1000x1000',
      '3856x2160',
      '3840x2176',
      '3840x1264',
      1024,
    ].map((size): [object, string, string] => [{ size }, 'invalid_value', 'size']),
    [{ response_format: 'base64' }, 'invalid_value', 'response_format'],
    [{ upload_to_storage: 'true' }, 'invalid_value', 'upload_to_storage'],
    [{ stream: 'true' }, 'invalid_value', 'stream'],
    [{ partial_images: 4 }, 'invalid_value', 'partial_images'],
    [{ partial_images: '1' }, 'invalid_value', 'partial_images'],
    [{ items: [] }, 'invalid_value', 'items'],
    [{ items: [{ prompt: 'a' }, { prompt: 'b' }] }, 'invalid_value', 'items'],
    [{ items: { prompt: 'a' } }, 'invalid_value', 'items'],
    [{ items: ['a'] }, 'invalid_value', 'items'],
    [{ items: [{ prompt: 7 }] }, 'invalid_value', 'items[0].prompt'],
    [{ items: [{ prompt: 'a', image_url: 7 }] }, 'invalid_value', 'items[0].image_url'],
    [{ prompt: undefined, items: [{}] }, 'missing_required_parameter', 'prompt'],
    [{ image: 7 }, 'invalid_value', 'image'],
    [{ input_image: [link, null] }, 'invalid_value', 'input_image'],
    [{ image: [link, link, link, link, link] }, 'too_many_images', 'image'],
    [{ image_url: link, input_image: [link, link], image: [link, link] }, 'too_many_images', 'image'],
    [{ image: [link, link, link, link], items: [{ image_url: link }] }, 'too_many_images', 'items[0].image_url'],
    ...[
      'http://pictures.example/a.png',
      'ftp://pictures.example/a.png',
      'file:///etc/passwd',
      'https://user:secret@pictures.example/a.png',
      'https://localhost/a.png',
      'https://127.0.0.1/a.png',
      'https://[::ffff:10.0.0.1]/a.png',
      'https://169.254.169.254/latest',
      'pictures.example/a.png',
      '',
    ].map((image_url): [object, string, string] => [{ image_url }, 'invalid_image_url', 'image_url']),
    [{ image: [link, 'data:image/png;base64,%%%'] }, 'invalid_base64_image', 'image[1]'],
    [{ image: 'data:image/png,abc' }, 'invalid_base64_image', 'image'],
    [
      { image: `data:image/png;base64,${btoa('<svg xmlns="http://www.w3.org/2000/svg"/>')}` },
      'unsupported_image_media_type',
      'image',
    ],
    [{ quality: 7 }, 'invalid_value', 'quality'],
    [{ output_format: 'gif' }, 'invalid_value', 'output_format'],
    [{ output_compression: 101 }, 'invalid_value', 'output_compression'],
    [{ user: {} }, 'invalid_value', 'user'],
  ];

  it('are refused for invalid fields with a code and the name on both routes, without a slot', async () => {
    const limited = imageClient(app, await app.makeKey({ grants: ['images'], rpm: 1 }));
    for (const [change, code, param] of refused) {
      for (const ask of [limited.submit, limited.generate]) {
        const { status, json } = await ask({ ...PROMPT, ...change });
        expect([status, json.error?.code, json.error?.param], JSON.stringify(change).slice(0, 120)).to.deep.equal([
          400,
          code,
          param,
        ]);
        expect(json.error.message).not.to.contain('secret');
      }
    }
    expect((await limited.submit()).headers.get('x-ratelimit-remaining-requests')).to.equal('0');
    expect(calls).to.have.length.at.most(1);
  });

  it('cannot stream a job, and name the route of its events', async () => {
    const client = imageClient(app, await app.makeKey({ grants: ['images'] }));
    const { status, json } = await client.submit({ ...PROMPT, stream: true });
    expect([status, json.error.code, json.error.param]).to.deep.equal([400, 'unsupported_parameter', 'stream']);
    expect(json.error.message).to.include('/events').and.to.include('/v1/images/generations');
  });

  it('have defaults for absent and null fields', async () => {
    const nulls = { n: null, size: null, response_format: null, items: null, image: null, stream: null, user: null };
    const call = await callFor({ ...nulls, n: 1, stream: false });
    expect(call).to.deep.include({ model: 'gen-img-2', prompt: PROMPT.prompt, references: [], options: {} });
    expect(call.size).to.deep.equal({ width: 1024, height: 1024 });
    expect(call.idempotencyKey).to.match(/^imgjob_/);
  });

  it('accept named sizes, any size of the model, and auto', async () => {
    for (const [size, width, height] of [
      ['1024X1536', 1024, 1536],
      ['1152x2048', 1152, 2048],
      ['64x192', 64, 192],
    ] as const) {
      calls.length = 0;
      expect((await callFor({ size })).size).to.deep.equal({ width, height });
    }
    calls.length = 0;
    expect((await callFor({ size: 'auto' })).size).to.equal('auto');
    const strict = await startImageApp({ anyImageSize: false });
    try {
      const own = imageClient(strict, await strict.makeKey({ grants: ['images'] }));
      expect((await own.submit({ ...PROMPT, size: '64x64' })).json.error.param).to.equal('size');
      expect((await own.submit({ ...PROMPT, size: '1536x1024' })).status).to.equal(202);
    } finally {
      await strict.close();
    }
  });

  it('prefer the prompt of the item to that of the request', async () => {
    expect((await callFor({ items: [{ prompt: 'Of the item' }] })).prompt).to.equal('Of the item');
    calls.length = 0;
    expect((await callFor({ items: [{ image_url: null, more: 1 }] })).prompt).to.equal(PROMPT.prompt);
  });

  it('forward fields of the model and leave out all others', async () => {
    const told = { quality: 'high', background: 'opaque', moderation: 'low', input_fidelity: 'high', user: 'u1' };
    const output = { output_format: 'webp', output_compression: 60 };
    const call = await callFor({ ...told, ...output, partial_images: 2, style: 'vivid', ['__proto__']: { n: 2 } });
    expect(call.options).to.deep.equal({ ...told, ...output });
  });

  it('send input images in the order of the fields, duplicates included', async () => {
    const other = await sampleImage({ width: 32, height: 16, format: 'jpeg', seed: 4 });
    const jpeg = `data:image/whatever;base64,${other.toString('base64')}`;
    const { references } = await callFor({ image: [png, png], image_url: jpeg, items: [{ image_url: png }] });
    expect(references.map(({ contentType }) => contentType)).to.deep.equal([
      'image/jpeg',
      'image/png',
      'image/png',
      'image/png',
    ]);
  });

  it('keep no input image after the end of the job', async () => {
    const storage = app.state.files;
    const names = new Set<string>();
    const write = storage.write.bind(storage);
    storage.write = (file) => {
      names.add(file.name);
      return write(file);
    };
    await callFor({ image: [png, png] });
    await client.submit({ ...PROMPT, image: png, model: 'gen-image-2' }, { 'idempotency-key': 'kept-once' });
    await client.submit({ ...PROMPT, image: png, model: 'gen-image-2' }, { 'idempotency-key': 'kept-once' });
    const sent = [...names].filter((name) => name.startsWith('ref_'));
    expect(sent).to.have.length(3);
    for (const name of sent) while (await storage.stat(name)) await new Promise((resolve) => setTimeout(resolve, 10));
  });

  it('need the grant for images, and a bearer token', async () => {
    const other = imageClient(app, await app.makeKey({ grants: ['extract', 'text', 'audio'] }));
    for (const ask of [() => other.submit(), () => other.generate(), () => other.poll('imgjob_1')]) {
      const { status, json } = await ask();
      expect([status, json.error.code]).to.deep.equal([403, 'route_not_allowed']);
    }
    const key = await app.makeKey({ grants: ['images'] });
    const bare = await app.request('/v1/images/jobs', { method: 'POST', headers: { 'x-api-key': key } });
    expect([bare.status, bare.json.error.code]).to.deep.equal([401, 'missing_api_key']);
    expect(bare.headers.get('www-authenticate')).to.equal('Bearer');
  });

  it('are accepted exactly 15 times of 200 in parallel with 15 a minute, with Retry-After', async () => {
    const limited = imageClient(app, await app.makeKey({ grants: ['images'], rpm: 15 }));
    const answers = await Promise.all(Array.from({ length: 200 }, () => limited.submit()));
    const accepted = answers.filter(({ status }) => status === 202);
    expect(accepted).to.have.length(15);
    expect(new Set(accepted.map(({ json }) => json.id)).size).to.equal(15);
    const left = accepted.map(({ headers }) => Number(headers.get('x-ratelimit-remaining-requests')));
    expect(left.sort((one, other) => one - other)).to.deep.equal(Array.from({ length: 15 }, (_, index) => index));
    for (const { status, json, headers } of answers.filter((one) => one.status !== 202)) {
      expect([status, json.error.code, json.error.type]).to.deep.equal([
        429,
        'rate_limit_exceeded',
        'rate_limit_error',
      ]);
      expect(Number(headers.get('retry-after'))).to.be.within(1, 60);
    }
  });
});
