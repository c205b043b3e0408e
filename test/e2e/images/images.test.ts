/** Images of a running gateway, with and without an upstream. */

import { mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import OpenAI, { APIError } from 'openai';
import sharp from 'sharp';
import { inventMask } from '../../../core/testing/models/image-run.js';
import { describeOnStacks, type StackPlace } from '../../support/databases/stacks.js';
import { startWebhookReceiver } from '../../support/http/webhook-receiver.js';
import { type ImageUpstream, startImageUpstream } from '../../support/images/image-upstream.js';
import { sampleImage } from '../../support/images/sample-images.js';
import { type GatewayHere, startGatewayHere } from '../../support/processes/gateway-here.js';
import { type GatewayClient, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';

const BODY = { model: 'gen-img-2', prompt: 'A tug at dawn' };

describeOnStacks('images end to end', (stack) => {
  const once = onceIt(stack);
  let place: StackPlace;
  let folder: string;
  let upstream: ImageUpstream;

  before(async () => {
    place = await stack.place();
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-images-'));
    upstream = await startImageUpstream({ apiKey: 'sk-upstream' });
  });
  beforeEach(() => upstream.reset());
  after(async () => {
    await upstream.close();
    await place.remove();
    await rm(folder, { recursive: true, force: true });
  });

  const withUpstream = () => ({
    ...place.environment,
    IMAGE_UPSTREAM_URL: upstream.baseUrl,
    IMAGE_UPSTREAM_KEY: 'sk-upstream',
    IMAGE_UPSTREAM_MODEL: 'vendor-model',
    TRUSTED_ORIGINS: upstream.origin,
  });

  function clientOf(gateway: GatewayClient, key: string) {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    return {
      submit: (body: object, more: Record<string, string> = {}) =>
        gateway.request('/v1/images/jobs', {
          method: 'POST',
          headers: { ...headers, ...more },
          body: JSON.stringify(body),
        }),
      ended: (id: string) => gateway.request(`/v1/images/jobs/${id}?wait=60`, { headers }),
    };
  }

  describe('without an upstream', () => {
    let gateway: GatewayHere;
    let key: string;

    before(async () => {
      gateway = await startGatewayHere({ environment: place.environment });
      ({ key } = await gateway.makeKey({ grants: ['images'] }));
    });
    after(() => gateway.stop());

    it('let a newcomer submit, poll and open an image, and name its provider in health', async () => {
      const client = clientOf(gateway, key);
      const { status, json } = await client.submit({ ...BODY, size: '1024x1536' });
      expect(status).to.equal(202);
      const { json: done } = await client.ended(json.id);
      expect(done.status).to.equal('completed');
      const file = await fetch(done.data[0].url);
      expect(await sharp(await file.arrayBuffer()).metadata()).to.include({ width: 1024, height: 1536, format: 'png' });
      expect(JSON.stringify((await gateway.request('/health')).json)).to.contain('stand_in');
    });

    once("work with the vendor's client unchanged", async () => {
      const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1` });
      const linked = await client.images.generate({ ...BODY, size: '1536x1024' });
      expect((await fetch(linked.data?.[0]?.url ?? '')).status).to.equal(200);
      const inline = await client.images.generate({ ...BODY, response_format: 'b64_json', quality: 'low', n: 1 });
      const bytes = Buffer.from(inline.data?.[0]?.b64_json ?? '', 'base64');
      expect(await sharp(bytes).metadata()).to.include({ width: 1024, height: 1024 });
      const refused = await client.images.generate({ ...BODY, n: 2 }).catch((error: unknown) => error);
      expect(refused).to.be.instanceOf(APIError);
      expect(refused).to.deep.include({ status: 400, code: 'invalid_value', param: 'n' });
      expect((refused as APIError).requestID).to.match(/^req_/);
    });

    it('make an image by the command line beside the server', async () => {
      const reference = path.join(folder, 'reference.png');
      await writeFile(reference, await sampleImage({ width: 300, height: 200, format: 'png', seed: 1 }));
      const file = path.join(folder, 'made.webp');
      const made = await gateway.command(
        'image',
        'A quiet harbour',
        '--ref',
        reference,
        '--size',
        '512x256',
        '-o',
        file,
      );
      expect([made.code, made.stdout], made.stderr).to.deep.equal([0, `${file}\n`]);
      expect(await sharp(await readFile(file)).metadata()).to.include({ width: 512, height: 256, format: 'webp' });
      const refused = await gateway.command('image', 'A quiet harbour', '--size', '5x5');
      expect([refused.code, refused.stdout]).to.deep.equal([2, '']);
      expect(refused.stderr).to.contain('--size must be');
    });

    once('write into a folder by the command line, or print why not', async () => {
      const size = ['--size', '256x256'];
      const named = await gateway.command('image', 'A quiet harbour', ...size, '-o', folder);
      expect(named.stdout, named.stderr).to.match(/^.*\/img_\w+\.png\n$/);
      expect(path.dirname(named.stdout.trim())).to.equal(folder);
      expect(await sharp(await readFile(named.stdout.trim())).metadata()).to.include({ width: 256, format: 'png' });

      const full = path.join(folder, 'full.png');
      await symlink('/dev/full', full);
      const { code, stdout, stderr } = await gateway.command('image', 'A quiet harbour', ...size, '-o', full);
      expect([code, stdout]).to.deep.equal([1, '']);
      expect(stderr).to.match(/^mediagate: The image was created, but .*full\.png could not be written: ENOSPC.*\n$/);
      const [, kept = ''] = /is stored as (\S+)/.exec(stderr) ?? [];
      const served = await gateway.request(`/v1/images/files/${path.basename(kept).replace(/\.$/, '')}`);
      expect(served.status, stderr).to.equal(200);
    });
  });

  describe('with an upstream', () => {
    let gateway: GatewayHere;
    let key: string;

    before(async () => {
      gateway = await startGatewayHere({ environment: withUpstream() });
      ({ key } = await gateway.makeKey({ grants: ['images'] }));
    });
    after(() => gateway.stop());

    it('send text and input images to it, and return its image on the exact canvas', async () => {
      upstream.behave([{ does: 'image', size: '1000x900' }]);
      const image = await sampleImage({ width: 64, height: 48, format: 'png', seed: 2 });
      const reference = `data:image/png;base64,${image.toString('base64')}`;
      const client = clientOf(gateway, key);
      const { json } = await client.submit({ ...BODY, image: [reference, reference], quality: 'high' });
      const { json: done } = await client.ended(json.id);
      expect(done.data[0], JSON.stringify(done.error)).to.include({ width: 1024, height: 1024 });
      expect(done.data[0].raw_url).not.to.equal(done.data[0].url);
      const [request] = upstream.requests;
      expect([request?.path, request?.files.length]).to.deep.equal(['/v1/images/edits', 2]);
      expect(request?.members).to.include({ model: 'vendor-model', quality: 'high' });
      expect(upstream.calls(json.id)).to.equal(1);
    });

    once("forward its refusal to the vendor's client, once", async () => {
      upstream.behave([{ does: 'moderation' }]);
      const client = new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1` });
      const refused = await client.images.generate(BODY).catch((error: unknown) => error);
      expect(refused).to.deep.include({ status: 400, code: 'moderation_blocked', type: 'image_generation_user_error' });
      expect(upstream.requests).to.have.length(1);
    });
  });

  it('survive the end of their process, with repeated requests and webhooks', async () => {
    const dataFolder = await mkdtemp(path.join(folder, 'killed-'));
    const receiver = await startWebhookReceiver();
    const webhooks = { IMAGE_WEBHOOKS: 'on', IMAGE_WEBHOOK_ORIGINS: receiver.origin };
    const options = { dataFolder, environment: { ...withUpstream(), ...webhooks } };
    let gateway = await startGatewayProcess(options);
    try {
      const { key } = await gateway.makeKey({ grants: ['images'] });
      upstream.behave([{ does: 'stall' }]);
      const keyed = { 'idempotency-key': 'one' };
      const uri = (bytes: Uint8Array) => `data:image/png;base64,${Buffer.from(bytes).toString('base64')}`;
      const size = { width: 64, height: 48 };
      const image_url = uri(await sampleImage({ ...size, format: 'png', seed: 1 }));
      const mask = uri((await inventMask(size, 0)).bytes);
      const body = { ...BODY, image_url, mask, webhook_url: receiver.url('survivor') };
      const { json: job } = await clientOf(gateway, key).submit(body, keyed);
      while (upstream.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
      await gateway.kill();
      gateway = await startGatewayProcess(options);
      const client = clientOf(gateway, key);
      const again = await client.submit(body, keyed);
      expect([again.status, again.json.id, again.headers.get('idempotency-replayed')]).to.deep.equal([
        202,
        job.id,
        'true',
      ]);
      const { json: done } = await client.ended(job.id);
      expect([done.status, done.items[0].attempts]).to.deep.equal(['completed', 2]);
      expect((await fetch(done.data[0].url)).status).to.equal(200);
      expect(upstream.calls(job.id)).to.equal(2);
      expect(upstream.requests.at(-1)?.files.map(({ name }) => name)).to.deep.equal(['image[]', 'mask']);
      const inputs = async () =>
        (await readdir(path.join(dataFolder, 'files'))).filter((name) => name.startsWith('ref_'));
      await until(async () => (await inputs()).length === 0);
      const [told] = await receiver.heard('survivor');
      expect(JSON.parse(told?.body ?? '')).to.deep.include({ type: 'image.job.completed', data: done });
    } finally {
      await gateway.stop();
      expect(receiver.of('survivor')).to.have.length(1);
      await receiver.close();
    }
  });
});
