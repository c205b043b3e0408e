/** The vendor's image client through the gateway. */

import { expect } from 'chai';
import openaiImage from 'mediagate/plugins/openai_image';
import OpenAI, { toFile } from 'openai';
import { inventMask } from '../../../core/testing/models/image-run.js';
import { type ListeningApp, startApp } from '../../http/http/listening-app.js';
import { type ImageUpstream, startImageUpstream } from '../../support/images/image-upstream.js';
import { sampleImage } from '../../support/images/sample-images.js';
import { rejection } from '../../support/rejection.js';

const MODEL = 'gen-img-2';

describe("the vendor's image client before a gateway with an upstream of its format", () => {
  let app: ListeningApp;
  let upstream: ImageUpstream;
  let client: OpenAI;
  let picture: Buffer;
  let mask: Buffer;

  before(async () => {
    upstream = await startImageUpstream();
    const options = { upstreams: [{ url: upstream.baseUrl }] };
    app = await startApp({
      gateway: { plugins: [{ use: openaiImage, options }], services: { http: undefined } },
    });
    client = new OpenAI({
      apiKey: await app.makeKey({ grants: ['images'] }),
      baseURL: `${app.url}/v1`,
      maxRetries: 0,
    });
    picture = await sampleImage({ width: 96, height: 64, format: 'png', seed: 1 });
    mask = Buffer.from((await inventMask({ width: 96, height: 64 }, 0)).bytes);
  });
  beforeEach(() => upstream.reset());
  after(async () => {
    await app?.close();
    await upstream?.close();
  });

  const png = (bytes: Buffer, name: string) => toFile(bytes, name, { type: 'image/png' });

  it('edits files with a mask', async () => {
    const { data } = await client.images.edit({
      model: MODEL,
      prompt: 'The same tug at night',
      image: [await png(picture, 'tug.png'), await png(picture, 'berth.png')],
      mask: await png(mask, 'mask.png'),
      size: '1024x1024',
      response_format: 'b64_json',
    });
    expect(Buffer.from(data?.[0]?.b64_json ?? '', 'base64').toString('latin1', 1, 4)).to.equal('PNG');
    const [request] = upstream.requests;
    expect(request?.path).to.equal('/v1/images/edits');
    expect(request?.files.map(({ name }) => name)).to.deep.equal(['image[]', 'image[]', 'mask']);
  });

  it('streams the partial images of the upstream, of generations and edits', async () => {
    const made = { model: MODEL, prompt: 'A tug', stream: true, partial_images: 2, size: '1024x1024' } as const;
    const edited = { ...made, image: await png(picture, 'tug.png') };
    for (const [kind, send] of [
      ['image_generation', () => client.images.generate(made)],
      ['image_edit', () => client.images.edit(edited)],
    ] as const) {
      upstream.behave([{ does: 'image' }]);
      const types: string[] = [];
      for await (const event of await send()) {
        types.push(event.type);
        expect(Buffer.from(event.b64_json, 'base64').toString('latin1', 1, 4)).to.equal('PNG');
        if (event.type.endsWith('.completed')) expect(event).to.deep.include({ size: '1024x1024', quality: 'auto' });
      }
      const partial = `${kind}.partial_image`;
      expect(types).to.deep.equal([partial, partial, `${kind}.completed`]);
      const members = upstream.requests.at(-1)?.members;
      expect([String(members?.stream), String(members?.partial_images)]).to.deep.equal(['true', '2']);
    }
  });

  it('throws the error that ends or refuses a stream', async () => {
    upstream.behave([{ does: 'moderation' }]);
    const stream = await client.images.generate({ model: MODEL, prompt: 'A tug', stream: true, partial_images: 1 });
    const ended = await rejection(
      (async () => {
        for await (const event of stream) expect(event).to.equal(undefined);
      })(),
    );
    expect(ended).to.be.instanceOf(OpenAI.APIError).and.to.include({ code: 'moderation_blocked' });
    const refused = await rejection(client.images.edit({ model: MODEL, prompt: 'A tug', image: [] }));
    expect(refused).to.include({ status: 400, code: 'missing_required_parameter', param: 'image' });
  });

  for (const does of ['cut_json', 'bad_base64'] as const) {
    it(`ends with an error if the stream of the upstream does: ${does}`, async () => {
      upstream.behave([{ does }]);
      const stream = await client.images.generate({ model: MODEL, prompt: 'A tug', stream: true, partial_images: 1 });
      const ended = await rejection(
        (async () => {
          for await (const event of stream) void event;
        })(),
      );
      expect(ended).to.be.instanceOf(OpenAI.APIError).and.to.include({ code: 'upstream_changed' });
    });
  }
});
