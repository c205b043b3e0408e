/** Image edits with files of a form or links in JSON. */

import { expect } from 'chai';
import { inventMask } from '../../../core/testing/models/image-run.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { createDarkroom } from '../../support/images/invented-image.js';
import { sampleImage } from '../../support/images/sample-images.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import type { Answer, ListeningApp } from '../http/listening-app.js';
import { type ImageClient, imageClient, startImageApp } from './client.js';

const TEXTS = { model: 'gen-img-2', prompt: 'The same tug at night' };

describeOnStacks('image edits', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  let client: ImageClient;
  let darkroom: ReturnType<typeof createDarkroom>;
  let headers: Record<string, string>;
  let picture: Buffer;
  let mask: Buffer;

  before(async () => {
    picture = await sampleImage({ width: 60, height: 40, format: 'png', seed: 1 });
    mask = Buffer.from((await inventMask({ width: 60, height: 40 }, 0)).bytes);
    darkroom = createDarkroom();
    app = await startImageApp({ stack, generate: darkroom.generate });
    const key = await app.makeKey({ grants: ['images'] });
    headers = { authorization: `Bearer ${key}` };
    client = imageClient(app, key);
  });
  after(() => app?.close());

  const send = (body: FormData | object, more: Record<string, string> = {}): Promise<Answer> => {
    const isForm = body instanceof FormData;
    const type: Record<string, string> = isForm ? {} : { 'content-type': 'application/json' };
    return app.request('/v1/images/edits', {
      method: 'POST',
      headers: { ...headers, ...type, ...more },
      body: isForm ? body : JSON.stringify(body),
    });
  };
  const form = (parts: readonly (readonly [string, string | Buffer])[], texts: object = TEXTS): FormData => {
    const made = new FormData();
    for (const [name, value] of Object.entries(texts)) made.append(name, String(value));
    for (const [name, value] of parts) {
      if (typeof value === 'string') made.append(name, value);
      else made.append(name, new File([new Uint8Array(value)], 'picture.png', { type: 'image/png' }));
    }
    return made;
  };
  const uri = (bytes: Buffer) => `data:image/png;base64,${bytes.toString('base64')}`;
  const code = ({ status, json }: Answer) => [status, json.error?.code, json.error?.param];

  /** What the model was asked for, and the answer. */
  async function edited(body: FormData | object) {
    const before = darkroom.calls.length;
    const answer = send(body);
    await Promise.race([darkroom.asked(before + 1), answer]);
    if (darkroom.calls.length > before) await darkroom.develop();
    return { call: darkroom.calls[before], answer: await answer };
  }

  it('accept files in a form like links in JSON, and answer like generations', async () => {
    const settings = { quality: 'high', size: '1024x1536', output_format: 'webp', output_compression: 80, n: 1 };
    const sentForm = form(
      [
        ['image[]', picture],
        ['image[]', picture],
        ['mask', mask],
      ],
      { ...TEXTS, ...settings },
    );
    const images = [{ image_url: uri(picture) }, { image_url: uri(picture) }];
    const sentJson = { ...TEXTS, ...settings, images, mask: { image_url: uri(mask) } };
    for (const body of [sentForm, sentJson]) {
      const { call, answer } = await edited(body);
      expect(answer.status).to.equal(200);
      expect(Object.keys(answer.json)).to.deep.equal(['created', 'data', 'requested', 'succeeded', 'failed', 'usage']);
      expect(answer.json.data[0].filename).to.match(/^img_.*\.webp$/);
      expect(call).to.deep.include({ prompt: TEXTS.prompt, size: { width: 1024, height: 1536 } });
      expect(call?.options).to.deep.equal({ quality: 'high', output_format: 'webp', output_compression: 80 });
      expect([call?.references.length, call?.mask?.contentType]).to.deep.equal([2, 'image/png']);
    }
  });

  once('leave the size to the model if none is sent, and accept links beside files', async () => {
    const { call } = await edited(
      form([
        ['image', picture],
        ['image_url', uri(picture)],
      ]),
    );
    expect([call?.size, call?.references.length, call?.mask]).to.deep.equal(['auto', 2, undefined]);
    const { call: other } = await edited({ ...TEXTS, image: [uri(picture)], mask: uri(mask) });
    expect([other?.size, other?.references.length, other?.mask?.contentType]).to.deep.equal(['auto', 1, 'image/png']);
  });

  once('refuse invalid fields with a code and the name, and take no slot', async () => {
    const large = Buffer.concat([picture, Buffer.alloc(10 * 1024 * 1024)]);
    const link = (bytes: Buffer) => ({ image_url: uri(bytes) });
    for (const [body, ...expected] of [
      [form([]), 400, 'missing_required_parameter', 'image'],
      [{ ...TEXTS }, 400, 'missing_required_parameter', 'image'],
      [form([['image', picture]], { model: TEXTS.model }), 400, 'missing_required_parameter', 'prompt'],
      [form(Array.from({ length: 5 }, () => ['image[]', picture] as const)), 400, 'too_many_images', 'image'],
      [{ ...TEXTS, images: Array(5).fill(link(picture)) }, 400, 'too_many_images', 'images'],
      [form([['image', Buffer.from('<svg/>')]]), 400, 'unsupported_image_media_type', 'image[0]'],
      [form([['image', large]]), 400, 'image_file_too_large', 'image[0]'],
      [form([['picture', picture]]), 400, 'invalid_value', 'picture'],
      [form([['image', picture]], { ...TEXTS, n: 2 }), 400, 'invalid_value', 'n'],
      [form([['image', picture]], { ...TEXTS, n: 'one' }), 400, 'invalid_value', 'n'],
      [form([['image', picture]], { ...TEXTS, model: 'none' }), 400, 'model_not_supported', 'model'],
      [{ ...TEXTS, images: 'x' }, 400, 'invalid_value', 'images'],
      [{ ...TEXTS, images: [{}] }, 400, 'invalid_value', 'images[0].image_url'],
      [{ ...TEXTS, images: [link(picture), { file_id: 'file-1' }] }, 400, 'unsupported_parameter', 'images[1].file_id'],
      [
        { ...TEXTS, images: [link(picture)], mask: { file_id: 'file-1' } },
        400,
        'unsupported_parameter',
        'mask.file_id',
      ],
      [{ ...TEXTS, images: [link(picture)], mask: 7 }, 400, 'invalid_value', 'mask'],
      [{ ...TEXTS, images: [link(picture)], mask: {} }, 400, 'invalid_value', 'mask.image_url'],
      [{ ...TEXTS, images: [link(picture)], mask: { url: uri(mask) } }, 400, 'invalid_value', 'mask.image_url'],
      [{ ...TEXTS, images: [link(picture)], mask: { image_url: null } }, 400, 'invalid_value', 'mask.image_url'],
      [
        { ...TEXTS, images: [link(picture)], mask: { image_url: { url: uri(mask) } } },
        400,
        'invalid_value',
        'mask.image_url',
      ],
      [{ ...TEXTS, images: [link(picture)], mask: [{ image_url: uri(mask) }] }, 400, 'invalid_value', 'mask'],
      [{ ...TEXTS, images: [link(picture)], mask: true }, 400, 'invalid_value', 'mask'],
      [
        { ...TEXTS, images: [{ image_url: 'http://127.0.0.1/a.png' }] },
        400,
        'invalid_image_url',
        'images[0].image_url',
      ],
    ] as const) {
      expect(code(await send(body)), JSON.stringify(expected)).to.deep.equal(expected);
    }
    const twice = form([
      ['image', picture],
      ['mask', mask],
      ['mask', mask],
    ]);
    expect(code(await send(twice))).to.deep.equal([400, 'invalid_value', 'mask']);
    const text = await send('x' as never, { 'content-type': 'text/plain' });
    expect(code(text)).to.deep.equal([415, 'unsupported_media_type', null]);
    const cut = picture.subarray(0, picture.length / 2);
    expect(code(await send(form([['image', cut]])))).to.deep.equal([400, 'invalid_image', 'image[0]']);
    const opaque = form([
      ['image', picture],
      ['mask', picture],
    ]);
    expect(code(await send(opaque))).to.deep.equal([400, 'invalid_image', 'mask']);
    const limited = await app.makeKey({ grants: ['text'] });
    const refused = await app.request('/v1/images/edits', {
      method: 'POST',
      headers: { authorization: `Bearer ${limited}` },
      body: form([['image', picture]]),
    });
    expect(code(refused)).to.deep.equal([403, 'route_not_allowed', null]);
  });

  once('match the same form under another boundary, but not another file', async () => {
    const keyed = { 'idempotency-key': 'edit-1' };
    const { length } = darkroom.calls;
    const first = send(form([['image', picture]]), keyed);
    await darkroom.develop();
    const { json } = await first;
    const again = await send(form([['image', picture]]), keyed);
    expect([again.json, again.headers.get('idempotency-replayed')]).to.deep.equal([json, 'true']);
    expect(darkroom.calls).to.have.length(length + 1);
    expect(code(await send(form([['image', mask]]), keyed))).to.deep.equal([
      422,
      'idempotency_key_reused',
      'Idempotency-Key',
    ]);
  });

  once('become a job for a client that prefers that, also with a mask', async () => {
    const { status, json } = await send(form([['image', picture]]), { prefer: 'respond-async' });
    expect([status, json.status]).to.deep.equal([202, 'queued']);
    await darkroom.develop();
    expect((await client.ended(json.id)).json.status).to.equal('completed');
    const job = await client.submit({ ...TEXTS, image_url: uri(picture), mask: uri(mask) });
    await until(() => darkroom.calls.at(-1)?.mask !== undefined);
    await darkroom.develop();
    expect((await client.ended(job.json.id)).json.status).to.equal('completed');
    expect(code(await client.submit({ ...TEXTS, mask: uri(mask) }))).to.deep.equal([400, 'invalid_value', 'mask']);
  });
});
