/** Tools of agents: who sees them, what they answer, and that each is a call of its route. */

import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { expect } from 'chai';
import { type Extraction, GatewayError } from 'mediagate';
import sharp from 'sharp';
import { inventedAudio } from '../../support/audio/invented-audio.js';
import { tonePcm } from '../../support/audio/sounds.js';
import { inventedImage, inventedModel } from '../../support/images/invented-image.js';
import { invented, inventedExtraction } from '../../support/links/invented-plugin.js';
import { packageRoot } from '../../support/package-root.js';
import { type Answer, LINK, type ListeningApp, startApp } from '../http/listening-app.js';
import { connect, MODERN, modernClient } from './client.js';

/** Words of skills that are no tools. */
const CODES = new Set([
  ...['content_from_outside', 'rate_limit_exceeded', 'login_required', 'image_url', 'idempotency_key'],
]);

/** 24,000 samples a second, of 16 bits. */
function wav(samples: Buffer): Buffer {
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + samples.length, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(24_000, 24);
  head.writeUInt32LE(48_000, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write('data', 36);
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, samples]);
}

const ALL = ['images', 'extract', 'text', 'audio'] as const;

describe('tools of agents', function () {
  this.timeout(60_000);
  let app: ListeningApp;
  let key: string;
  let client: Client;
  let extraction: (id: string) => Extraction | Promise<Extraction>;
  let generate = inventedImage;

  before(async () => {
    const { plugin } = inventedAudio();
    app = await startApp({
      gateway: {
        plugins: [
          { use: invented({ extract: async ({ link }) => extraction(link.id) }) },
          { use: inventedModel((order) => generate(order)) },
          { use: plugin },
        ],
      },
    });
    key = await app.makeKey({ grants: [...ALL] });
    client = await connect(app, key);
  });
  after(async () => {
    await client?.close();
    await app?.close();
  });
  beforeEach(() => {
    extraction = (id) => inventedExtraction(id);
    generate = inventedImage;
  });

  // biome-ignore lint/suspicious/noExplicitAny: results of many shapes
  const call = (name: string, input: object): Promise<any> =>
    client.callTool({ name, arguments: input as Record<string, unknown> });

  async function namesFor(grants: readonly (typeof ALL)[number][], rpm: number | null = null) {
    const { json } = await modernClient(app, await app.makeKey({ grants: [...grants], rpm })).send('tools/list');
    return json.result.tools.map(({ name }: { name: string }) => name);
  }

  it('are listed by the grants of the key', async () => {
    expect(await namesFor(['extract'])).to.deep.equal(['get_link_data', 'get_link_data_batch', 'get_usage']);
    expect(await namesFor(['images'])).to.deep.equal(['generate_image', 'edit_image', 'get_usage']);
    expect(await namesFor(['audio'])).to.deep.equal([
      'transcribe_audio',
      'translate_audio',
      'speak',
      'list_models',
      'get_usage',
    ]);
    expect(await namesFor(['extract'], 0)).to.deep.equal(['get_usage']);
  });

  it('ask_link needs two grants', async () => {
    expect(await namesFor(['extract', 'text'])).to.include('ask_link');
    expect(await namesFor(['text'])).not.to.include('ask_link');
  });

  it('are named in the skills of the examples', async () => {
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    const folder = path.join(packageRoot, 'examples', 'skills');
    for (const skill of await readdir(folder)) {
      const text = await readFile(path.join(folder, skill, 'SKILL.md'), 'utf8');
      expect(text, skill).to.match(new RegExp(`^---\\nname: ${skill}\\ndescription: .{50,1000}\\n---\\n`));
      const called = [...text.matchAll(/`(\w+_\w+)`/g)].map(([, name = '']) => name).filter((name) => !CODES.has(name));
      expect(names, skill).to.include.members(called);
      expect(called.length, skill).to.be.above(3);
    }
  });

  it('do not exist for a key without the grant', async () => {
    const modern = modernClient(app, await app.makeKey({ grants: ['images'] }));
    const { json } = await modern.call('get_link_data', { url: LINK });
    expect(json.error).to.deep.include({ code: -32602, message: 'There is no tool get_link_data.' });
  });

  it('describe themselves in at most 40 kB', async () => {
    const { tools } = await client.listTools();
    expect(tools).to.have.length(10);
    expect(JSON.stringify(tools).length).to.be.below(40_000);
    for (const { name, inputSchema } of tools) expect(inputSchema.type, name).to.equal('object');
  });

  it('answer with the parts of a document that were asked for, marked as content from outside', async () => {
    const { structuredContent, content } = await call('get_link_data', { url: LINK, fields: ['metrics'] });
    expect(structuredContent).to.deep.equal({
      content_from_outside: true,
      platform: 'invented',
      input_url: LINK,
      extraction_method: 'invented',
      data: { metrics: { views: 7 } },
      limitations: [],
    });
    const [{ text }] = content;
    const [, , mark] = /with (outside-[\w-]{12}) .*\n<(outside-[\w-]{12})>\n/.exec(text) ?? [];
    expect(text.endsWith(`\n</${mark}>`)).to.equal(true);
    expect(text).to.include('"views":7');
  });

  it('answer what their route answers, without nulls, at first and from the cache', async () => {
    const url = 'https://invented.example/item/12';
    const { json } = await app.extract(key, { url, include_audio_mp3: false });
    const known = JSON.parse(JSON.stringify(json.data), (_, value) => value ?? undefined);
    for (const fields of [
      ['common'],
      ['metrics', 'common'],
      ['common'],
      ['reviews'],
      ['media', 'metrics'],
      ['media'],
    ]) {
      const { structuredContent, content } = await call('get_link_data', { url, fields });
      const { content_from_outside: _, ...shown } = structuredContent;
      const data = Object.fromEntries(fields.filter((name) => known[name]).map((name) => [name, known[name]]));
      expect(shown.data, fields.join()).to.deep.equal(data);
      expect(JSON.parse(/^\{.*\}$/m.exec(content[0].text)?.[0] ?? ''), fields.join()).to.deep.include({ ...shown });
    }
  });

  it('answer with title and numbers by default', async () => {
    const { structuredContent } = await call('get_link_data', { url: LINK });
    expect(Object.keys(structuredContent.data)).to.deep.equal(['common', 'metrics']);
    expect(structuredContent.data.common).to.deep.include({ title: 'Item 7' });
  });

  it('shorten what is too large, and say what', async () => {
    const description = 'Ahoy. '.repeat(40_000);
    extraction = (id) => {
      const made = inventedExtraction(id);
      const { data } = made as { data: { common: object } };
      return { ...made, data: { ...data, common: { ...data.common, description } } } as Extraction;
    };
    const { structuredContent, content } = await call('get_link_data', { url: 'https://invented.example/item/8' });
    expect(JSON.stringify(structuredContent).length).to.be.below(66_000);
    expect(structuredContent.left_out).to.deep.equal(['data.common.description: the first 60000 of 240000 characters']);
    expect(content[0].text).to.include('Left out, since a result has a limit of size: data.common.description');
    expect(content[0].text.length).to.be.below(26_000);
  });

  it('answer the errors of their route, with the code', async () => {
    extraction = () => Promise.reject(new GatewayError('removed', 'The item was removed.'));
    const { isError, content, _meta } = await call('get_link_data', { url: 'https://invented.example/item/9' });
    expect(isError).to.equal(true);
    expect(content[0].text).to.match(/^removed: /);
    expect(_meta['mediagate/error']).to.deep.include({ code: 'removed', retryable: false });
    const unknown = await call('get_link_data', { url: 'https://unknown.example/1' });
    expect(unknown._meta['mediagate/error'].code).to.equal('unsupported_platform');
  });

  it('refuse arguments that they do not know, by name', async () => {
    const misspelt = await call('get_link_data', { url: LINK, field: ['common'] });
    expect(misspelt.isError).to.equal(true);
    expect(misspelt.content[0].text).to.match(/^invalid_value: .*field/);
    const missing = await call('get_link_data', {});
    expect(missing.content[0].text).to.equal('missing_required_parameter: url is required.');
    const unknown = await call('get_link_data', { url: LINK, fields: ['title'] });
    expect(unknown.content[0].text).to.equal(
      'invalid_value: fields.0 must be one of common, metrics, media, reviews, transcript.',
    );
  });

  describe('in a plain call', () => {
    /** One call of any revision. @param more Another field of the parameters: with it the package answers. */
    const plain = (name: string, input: unknown, revision: string, more: object = {}) =>
      modernClient(app, key).send('tools/call', { name, arguments: input }, { id: 'seven', revision, more });
    const messageOf = ({ text }: Answer) =>
      JSON.parse((/^data: (.+)$/m.exec(text)?.[1] ?? text).replace(/outside-[\w-]{12}/g, 'outside-mark'));

    for (const revision of ['2025-06-18', '2025-11-25', MODERN]) {
      it(`of revision ${revision} answer as by the package of the protocol`, async () => {
        extraction = (id) =>
          id === '9' ? Promise.reject(new GatewayError('removed', 'The item was removed.')) : inventedExtraction(id);
        const inputs: readonly (readonly [string, unknown])[] = [
          ['get_link_data', { url: LINK }],
          ['get_link_data', { url: LINK, fields: ['metrics', 'reviews'] }],
          ['get_link_data', { url: LINK, fields: ['common', 'media'], clip_sort: 'latest' }],
          ['get_link_data', { url: 'https://invented.example/item/5' }],
          ['get_link_data', { url: 'https://invented.example/item/9' }],
          ['get_link_data', { url: LINK, field: ['common'] }],
          ['get_link_data', undefined],
          ['get_link_data_batch', { urls: [LINK, 'https://unknown.example/1'] }],
          ['list_models', {}],
          ['no_such_tool', {}],
          ['get_link_data', [LINK]],
        ];
        for (const [name, input] of inputs) {
          const answer = await plain(name, input, revision);
          const byPackage = await plain(name, input, revision, { toThePackage: true });
          const what = `${name} ${JSON.stringify(input)}`;
          expect(answer.status, what).to.equal(byPackage.status);
          expect(messageOf(answer), what).to.deep.equal(messageOf(byPackage));
        }
        const { headers } = await plain('list_models', {}, revision);
        expect(headers.get('content-type')).to.equal('application/json');
      });
    }

    it('go on as events if they take long', async () => {
      extraction = async (id) => {
        await sleep(6_000);
        return inventedExtraction(id);
      };
      const { headers, text } = await plain('get_link_data', { url: 'https://invented.example/item/6' }, MODERN);
      expect(headers.get('content-type')).to.match(/^text\/event-stream/);
      expect(text).to.match(/^: keep-alive\n\nevent: message\ndata: \{.+\}\n\n$/);
      expect(messageOf({ text } as Answer).result.structuredContent.platform).to.equal('invented');
    });
  });

  it('answer several links, each with its data or its error', async () => {
    const urls = [LINK, 'https://unknown.example/1'];
    const { structuredContent } = await call('get_link_data_batch', { urls, fields: ['metrics'] });
    const [first, second] = structuredContent.items;
    expect(first).to.deep.include({ url: LINK, ok: true, data: { metrics: { views: 7 } } });
    expect(second).to.deep.include({ url: urls[1], ok: false });
    expect(second.error.code).to.equal('unsupported_platform');
  });

  it('make an image, as contents and as a link that expires', async () => {
    const { structuredContent, content } = await call('generate_image', { prompt: 'A tug at dawn' });
    const [image, link] = content.filter(({ type }: { type: string }) => type !== 'text');
    expect(image).to.deep.include({ type: 'image', mimeType: 'image/png' });
    expect(Buffer.from(image.data, 'base64').subarray(1, 4).toString()).to.equal('PNG');
    const [made] = structuredContent.data;
    expect(link).to.deep.include({ type: 'resource_link', uri: made.url, mimeType: 'image/png' });
    expect(link.description).to.include(`until ${structuredContent.expires_at}`);
  });

  it('make images of more bytes than a connection takes at once', async () => {
    generate = async () => {
      const bytes = await sharp(randomBytes(600 * 600 * 3), { raw: { width: 600, height: 600, channels: 3 } })
        .png()
        .toBuffer();
      return { bytes, contentType: 'image/png' };
    };
    const { structuredContent, content } = await call('generate_image', { prompt: 'Noise', size: 'auto' });
    const [made] = structuredContent.data;
    expect(made.bytes).to.be.above(500_000);
    const image = content.find(({ type }: { type: string }) => type === 'image');
    expect(Buffer.from(image.data, 'base64')).to.have.length(made.bytes);
  });

  it('make an image once for equal idempotency keys', async () => {
    const input = { prompt: 'A buoy', idempotency_key: 'wish-1' };
    const [first, second] = [await call('generate_image', input), await call('generate_image', input)];
    expect(second.structuredContent.id).to.equal(first.structuredContent.id);
  });

  it('edit an image', async () => {
    const { content } = await call('generate_image', { prompt: 'A tug' });
    const { data } = content.find(({ type }: { type: string }) => type === 'image');
    const image_url = `data:image/png;base64,${data}`;
    const edited = await call('edit_image', { prompt: 'At night', image_url, size: '1024x1024' });
    expect(edited.isError, JSON.stringify(edited.content)).to.equal(undefined);
    expect(edited.structuredContent.data[0].width).to.equal(1024);
  });

  it('transcribe a recording in base64', async () => {
    const audio = wav(tonePcm(1)).toString('base64');
    const heard = await call('transcribe_audio', { audio });
    expect(heard.isError, JSON.stringify(heard.content)).to.equal(undefined);
    expect(heard.structuredContent).to.deep.include({ content_from_outside: true });
    expect(heard.structuredContent.text).to.be.a('string');
    const neither = await call('transcribe_audio', {});
    expect(neither._meta['mediagate/error']).to.deep.include({ code: 'invalid_value', param: 'url' });
  });

  it('speak a text', async () => {
    const { content, structuredContent } = await call('speak', { input: 'Ahoy!' });
    const audio = content.find(({ type }: { type: string }) => type === 'audio');
    expect(audio.mimeType).to.match(/^audio\//);
    expect(Buffer.from(audio.data, 'base64')).to.have.length(structuredContent.bytes);
  });

  it('list models, and what the key has used by the tools', async () => {
    const { structuredContent } = await call('list_models', {});
    expect(structuredContent.data.length).to.be.greaterThan(0);
    await app.state.usage.flushCounts();
    const used = await call('get_usage', { by: 'route' });
    const { usage, limits } = used.structuredContent;
    const routes = usage.data.map(({ name }: { name: string }) => name);
    expect(routes).to.include('/v1/extract');
    expect(limits.key.grants).to.deep.equal([...ALL]);
  });
});
