/** Upstreams on a private address that an operator configured. */

import { expect } from 'chai';
import { startOpenaiAudioUpstream } from '../../support/audio/openai-audio-upstream.js';
import { type ImageUpstream, startImageUpstream } from '../../support/images/image-upstream.js';
import { startTextUpstream, type TextUpstream } from '../../support/models/text-upstream.js';
import { type GatewayHere, startGatewayHere } from '../../support/processes/gateway-here.js';

/** What somebody does first who runs a model server on the same machine or network. */
describe('upstreams of an operator on a private address', () => {
  let texts: TextUpstream;
  let images: ImageUpstream;
  let audio: Awaited<ReturnType<typeof startOpenaiAudioUpstream>>;
  let gateway: GatewayHere;
  before(async () => {
    [texts, images, audio] = await Promise.all([startTextUpstream(), startImageUpstream(), startOpenaiAudioUpstream()]);
  });
  afterEach(() => gateway.stop());
  after(() => Promise.all([texts.close(), images.close(), audio.close()]));

  for (const host of ['127.0.0.1', 'localhost']) {
    it(`are the only private targets that a setting allows: ${host}`, async () => {
      const at = (url: string) => url.replace('127.0.0.1', host);
      gateway = await startGatewayHere({
        environment: {
          TEXT_UPSTREAM_URL: at(texts.baseUrl),
          IMAGE_UPSTREAM_URL: at(images.baseUrl),
          SPEECH_UPSTREAM_URL: at(audio.baseUrl),
        },
      });
      const { key } = await gateway.makeKey({ grants: ['text', 'images', 'audio', 'extract'] });
      const post = (path: string, body: object) =>
        gateway.request(path, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
      const messages = [{ role: 'user', content: 'Ahoy!' }];
      const chat = await post('/v1/chat/completions', { model: 'm-5.5', messages });
      expect([chat.status, texts.requests.length > 0]).to.deep.equal([200, true]);
      const image = await post('/v1/images/generations', { model: 'gen-img-2', prompt: 'A tug' });
      expect(image.status).to.equal(200);
      const speech = { model: 'tts_v3', input: 'Ahoy!', voice: 'alloy' };
      expect((await post('/v1/audio/speech', speech)).status).to.equal(200);

      const asked = images.requests.length;
      for (const url of [images.origin, images.origin.replace('http:', 'https:'), at(images.origin)]) {
        const link = await post('/v1/extract', { url: `${url}/files/1.png` });
        expect(link.status, url).to.equal(400);
        const reference = { model: 'gen-img-2', prompt: 'A tug', image_url: `${url}/files/1.png` };
        expect((await post('/v1/images/generations', reference)).status, url).to.equal(400);
      }
      expect(images.requests).to.have.length(asked);
    });
  }
});
