/** The replay server of the testing kit. */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { definePlugin, type Extractor, GatewayError, type Plugin, type PluginContext } from 'mediagate';
import template from 'mediagate/plugins/_template';
import devIdentity from 'mediagate/plugins/dev_identity';
import echo from 'mediagate/plugins/echo_text';
import openaiImage from 'mediagate/plugins/openai_image';
import openaiText from 'mediagate/plugins/openai_text';
import { openReplayServer, type ReplayServer, type ReplayServerOptions } from 'mediagate/testing/server';
import { signInAt } from '../../support/accounts/browser-session.js';
import { sampleImage } from '../../support/images/sample-images.js';
import { packageRoot } from '../../support/package-root.js';
import { rejection } from '../../support/rejection.js';

const SAMPLES = path.join(packageRoot, 'plugins', '_template', 'fixtures');
const DELAY_MS = 300;
const UPSTREAM = 'https://models.example/v1';

/** The template, whose own name no configuration takes. */
const reelbox = withExtractor('reelbox', (extractor) => extractor);

function withExtractor(
  name: string,
  change: (extractor: Extractor) => Extractor,
  before: (context: PluginContext) => Promise<void> = async () => {},
): Plugin {
  const { setup, ...rest } = template as Plugin;
  return definePlugin({
    ...rest,
    name,
    async setup(context) {
      await before(context);
      const { extractors = [] } = await setup(context);
      return { extractors: extractors.map((one) => change({ ...one, platform: name })) };
    },
  });
}

describe('openReplayServer', () => {
  const open: ReplayServer[] = [];

  async function serve(options: ReplayServerOptions): Promise<ReplayServer> {
    const server = await openReplayServer(options);
    open.push(server);
    return server;
  }

  afterEach(async () => {
    for (const server of open.splice(0)) await server.close();
  });

  it('answers links of an extractor from the folder of one sample, or of several', async () => {
    const url = 'https://reelbox.example/clip/aB3dE5gH7j';
    for (const fixtures of [path.join(SAMPLES, 'page_only'), [path.join(SAMPLES, 'private'), `${SAMPLES}/page_only`]]) {
      const server = await serve({ plugin: reelbox, fixtures });
      const { status, body } = await post(server, '/v1/extract', { url });
      expect({ status, views: body.data.metrics.views }).to.deep.equal({ status: 200, views: 48_000 });
      expect(server.requests.map((request) => String(request.url))).to.deep.equal([url]);
    }
  });

  it('accepts a folder of samples as a file URL and options, and answers states with their codes', async () => {
    const options = { apiKey: 'reelbox-key-of-the-test' };
    const server = await serve({ plugin: reelbox, fixtures: new URL(`file://${SAMPLES}/`), options });
    const clip = await post(server, '/v1/extract', { url: 'https://reelbox.example/clip/aB3dE5gH7j' });
    expect(clip.body.data.metrics.views).to.equal(48_213);
    const refused = await post(server, '/v1/extract', { url: 'https://reelbox.example/clip/qq1qq1qq1q' });
    expect(refused).to.nested.include({ status: 422, 'body.error.code': 'private' });
    expect(server.unmatched).to.deep.equal([]);
  });

  it('answers images of a provider', async () => {
    const image = await sampleImage({ width: 1024, height: 1024, format: 'png', seed: 1 });
    const text = JSON.stringify({ created: 1, data: [{ b64_json: image.toString('base64') }] });
    const server = await serve({
      plugin: openaiImage,
      options: { models: ['harbour-1'], upstreams: [{ url: UPSTREAM, model: 'vendor-1' }] },
      fixtures: [exchange('/images/generations', ['"model":"vendor-1"'], text)],
    });
    const { status, body } = await post(server, '/v1/images/generations', {
      model: 'harbour-1',
      prompt: 'A lighthouse',
      size: '1024x1024',
      response_format: 'b64_json',
    });
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(Buffer.from(body.data[0].b64_json, 'base64').equals(image)).to.equal(true);
  });

  it('answers chats of a text provider', async () => {
    const text = JSON.stringify({
      id: 'chat-1',
      object: 'chat.completion',
      model: 'tide-1',
      choices: [{ index: 0, message: { role: 'assistant', content: 'High water at noon.' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 4, completion_tokens: 5, total_tokens: 9 },
    });
    const server = await serve({
      plugin: openaiText,
      options: { models: 'tide-1', upstreams: [{ url: UPSTREAM }] },
      fixtures: [exchange('/chat/completions', ['When is high water?'], text)],
    });
    const { status, body } = await post(server, '/v1/chat/completions', {
      model: 'tide-1',
      messages: [{ role: 'user', content: 'When is high water?' }],
    });
    expect(status, JSON.stringify(body)).to.equal(200);
    expect(body.choices[0].message.content).to.equal('High water at noon.');
  });

  it('serves several plugins, as plugins.config.json lists them, and slow platforms', async () => {
    const fixtures = [{ folder: path.join(SAMPLES, 'page_only'), delayMs: DELAY_MS }];
    const server = await serve({ plugin: reelbox, plugins: [{ use: echo, options: { model: 'echo-1' } }], fixtures });
    const begun = performance.now();
    const { status } = await post(server, '/v1/extract', { url: 'https://reelbox.example/clip/aB3dE5gH7j' });
    expect(status).to.equal(200);
    expect(performance.now() - begun).to.be.at.least(DELAY_MS);
    const messages = [{ role: 'user', content: 'When is high water?' }];
    expect((await post(server, '/v1/chat/completions', { model: 'echo-1', messages })).status).to.equal(200);
  });

  it('returns replies of one address only to requests with the text of their folder', async () => {
    const folder = path.join(SAMPLES, 'page_only');
    const url = 'https://reelbox.example/clip/aB3dE5gH7j';
    for (const [includes, status] of [
      ['aB3dE5gH7j', 200],
      ['qq1qq1qq1q', 502],
    ] as const) {
      const server = await serve({ plugin: reelbox, fixtures: [{ folder, includes }] });
      expect((await post(server, '/v1/extract', { url })).status, includes).to.equal(status);
    }
  });

  it('answers requests to media hosts from files, whole and in ranges', async () => {
    const url = 'https://a.media.example/one.mp4?part=2';
    const answers: unknown[] = [];
    const asking = withExtractor(
      'reelbox',
      (extractor) => extractor,
      async ({ http }) => {
        for (const range of ['', 'bytes=2-3', 'bytes=4-', 'bytes=7-9']) {
          const { status, headers, body } = await http.request({ url, ...(range && { headers: { range } }) });
          answers.push([status, headers['content-range'], body.toString()]);
        }
        const other = await http.request({ url: 'https://media.example/two.mp4' });
        answers.push(other.body.toString());
      },
    );
    const folder = await mkdtemp(path.join(tmpdir(), 'mediagate-media-'));
    const files = { two: path.join(folder, 'two'), pixels: path.join(folder, 'pixels') };
    await writeFile(files.two, 'two');
    await writeFile(files.pixels, 'pixels\n');
    const media = [
      { host: '.media.example', includes: 'two.mp4', file: files.pixels },
      { host: 'media.example', file: files.two },
      { host: '.media.example', includes: 'part=2', file: files.pixels },
    ];
    const server = await serve({ plugin: asking, fixtures: [], media });
    await rm(folder, { recursive: true });
    expect(answers).to.deep.equal([
      [200, undefined, 'pixels\n'],
      [206, 'bytes 2-3/7', 'xe'],
      [206, 'bytes 4-6/7', 'ls\n'],
      [416, 'bytes */7', ''],
      'two',
    ]);
    expect(server.requests.length).to.equal(5);
    expect(server.unmatched).to.deep.equal([]);
  });

  it('lets people sign in with the development identity provider', async () => {
    const server = await serve({ plugins: [{ use: devIdentity }], fixtures: [] });
    const { status, headers } = await fetch(`${server.url}/signin`, { redirect: 'manual' });
    expect(status).to.be.within(302, 303);
    expect(headers.get('location')).to.match(/^http:\/\/127\.0\.0\.1:\d+\/auth\?.*client_id=mediagate/);
    expect(server.unmatched).to.deep.equal([]);
  });

  it('offers examples in the playground as recorded samples', async () => {
    const url = 'https://reelbox.example/clip/aB3dE5gH7j';
    const server = await serve({
      plugin: reelbox,
      plugins: [{ use: devIdentity }],
      fixtures: path.join(SAMPLES, 'page_only'),
      examples: [url, 'https://reelbox.example/clip/zB3dE5gH7j'],
    });
    const browser = await signInAt(server, 'ann@example.com');
    const { text } = await browser.open(`${server.url}/playground`);
    expect(text).to.contain('Recorded samples');
    expect([...text.matchAll(/data-example="([^"]+)"/g)].map(([, found]) => found)).to.deep.equal([url]);
  });

  it('takes settings', async () => {
    const folder = path.join(SAMPLES, 'page_only');
    for (const [settings, status] of [
      [{ MEDIA_PROXY: 'on' }, 200],
      [{}, 400],
    ] as const) {
      const server = await serve({ plugin: reelbox, fixtures: folder, settings });
      const wanted = { url: 'https://reelbox.example/clip/aB3dE5gH7j', include_media_links: true };
      expect((await post(server, '/v1/extract', wanted)).status).to.equal(status);
    }
  });

  it('needs no fixtures for a plugin without requests', async () => {
    const server = await serve({ plugin: echo, options: { model: 'echo-1' }, fixtures: [] });
    const response = await fetch(`${server.url}/v1/models`, { headers: { authorization: `Bearer ${server.apiKey}` } });
    expect(response.status).to.equal(200);
  });

  it('names requests without a recorded reply, and logs details that clients do not see', async () => {
    const broken = withExtractor('reelbox', (extractor) => ({
      ...extractor,
      async extract(call) {
        await extractor.extract(call).catch(() => {});
        throw new RangeError('a fault of the plugin');
      },
    }));
    const server = await serve({ plugin: broken, fixtures: [] });
    const { status } = await post(server, '/v1/extract', { url: 'https://reelbox.example/clip/aB3dE5gH7j' });
    expect(status).to.equal(502);
    expect(server.unmatched).to.deep.equal(['GET https://reelbox.example/clip/aB3dE5gH7j']);
    const faults = server.logs.filter(({ level }) => level === 'error').map(({ fields }) => String(fields.error));
    expect(faults.join()).to.contain('a fault of the plugin');
  });

  it('closes once', async () => {
    const server = await openReplayServer({ plugin: echo, options: { model: 'echo-1' }, fixtures: [] });
    await server.close();
    await server.close();
    await rejection(fetch(server.url));
  });

  describe('refuses with a reason:', () => {
    let folder: string;

    before(async () => {
      folder = await mkdtemp(path.join(tmpdir(), 'mediagate-fixtures-'));
      const exchanges = [{ request: { method: 'GET', url: UPSTREAM }, response: { status: 200, file: 'absent.html' } }];
      for (const name of ['empty', 'no-body']) await mkdir(path.join(folder, name));
      await writeFile(path.join(folder, 'no-body', 'exchanges.json'), JSON.stringify({ exchanges }));
    });

    after(() => rm(folder, { recursive: true, force: true }));

    const refusals: Record<string, { options: () => unknown; message: RegExp }> = {
      'a folder that does not exist': {
        options: () => ({ plugin: reelbox, fixtures: path.join(folder, 'absent') }),
        message: /folder of fixtures .*absent does not exist/,
      },
      'a folder without recorded replies': {
        options: () => ({ plugin: reelbox, fixtures: path.join(folder, 'empty') }),
        message: /has an exchanges\.json with recorded replies/,
      },
      'an exchange whose body is missing': {
        options: () => ({ plugin: reelbox, fixtures: path.join(folder, 'no-body') }),
        message: /no-body.exchanges\.json cannot be replayed: .*absent\.html/,
      },
      'no fixtures': { options: () => ({ plugin: reelbox }), message: /takes "fixtures": a folder/ },
      'an exchange without a URL': {
        options: () => ({ plugin: reelbox, fixtures: [{ request: { method: 'GET' }, response: { status: 200 } }] }),
        message: /needs "request\.url"/,
      },
      'an exchange in a list with a file': {
        options: () => ({
          plugin: reelbox,
          fixtures: [{ request: { method: 'GET', url: UPSTREAM }, response: { status: 200, file: 'a.json' } }],
        }),
        message: /has its body as "text"/,
      },
      'what is no plugin': {
        options: () => ({ plugin: {}, fixtures: [] }),
        message: /failed: its default export is not a plugin/,
      },
      'options that the plugin does not take': {
        options: () => ({ plugin: reelbox, fixtures: [], options: { language: 'English' } }),
        message: /"reelbox" failed: .*language/,
      },
      'a plugin whose setup fails': {
        options: () => ({ plugin: definePlugin({ ...reelbox, setup: refuse } as Plugin), fixtures: [] }),
        message: /"reelbox" failed: The key is missing/,
      },
    };
    function refuse(): never {
      throw new GatewayError('invalid_value', 'The key is missing.');
    }

    for (const [name, { options, message }] of Object.entries(refusals)) {
      it(name, async () => {
        const error = await rejection(openReplayServer(options() as ReplayServerOptions));
        expect(String(error)).to.match(message);
      });
    }
  });
});

function exchange(address: string, bodyIncludes: string[], text: string) {
  const headers = { 'content-type': 'application/json' };
  return {
    request: { method: 'POST', url: `${UPSTREAM}${address}`, bodyIncludes },
    response: { status: 200, headers, text },
  };
}

interface Answer {
  status: number;
  body: ReturnType<typeof JSON.parse>;
}

async function post(server: ReplayServer, route: string, request: object): Promise<Answer> {
  const { url, apiKey } = server;
  const response = await fetch(`${url}${route}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(request),
  });
  return { status: response.status, body: await response.json() };
}
