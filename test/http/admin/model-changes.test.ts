/** Models that operators change while the gateway runs: switched off, weighed, priced, added and removed. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect } from 'chai';
import openaiAudio from 'mediagate/plugins/openai_audio';
import openaiImage from 'mediagate/plugins/openai_image';
import openaiText from 'mediagate/plugins/openai_text';
import sketchImage from 'mediagate/plugins/sketch_image';
import { createLivePrices } from '../../../server/prices/index.js';
import { startOpenaiAudioUpstream } from '../../support/audio/openai-audio-upstream.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { startImageUpstream } from '../../support/images/image-upstream.js';
import { startTextUpstream, type TextUpstream } from '../../support/models/text-upstream.js';
import { runCommand } from '../../support/processes/command-line.js';
import { until } from '../../support/until.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';
import { post } from '../models/text-app.js';

const CHATS = '/v1/chat/completions';
const SECRET = 'sk-secret-of-the-added-server';
const MESSAGES = [{ role: 'user', content: 'Say something about Ostend.' }];

/** A server that answers a chat when it is told to. */
async function startSlowServer() {
  const waiting: (() => void)[] = [];
  const message = { role: 'assistant', content: 'late' };
  const usage = { prompt_tokens: 1_000, completion_tokens: 1_000, total_tokens: 2_000 };
  const choices = [{ index: 0, message }];
  const answer = { id: 'c', object: 'chat.completion', created: 1, model: 'moved', choices, usage };
  const server = createServer((request, response) => {
    request.resume();
    response.setHeader('content-type', 'application/json');
    if (request.method !== 'POST') return void response.end('{"data":[]}');
    waiting.push(() => response.end(JSON.stringify(answer)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${port}/v1`, waiting, close };
}

describeOnStacks('models changed by operators', (stack) => {
  let fast: TextUpstream;
  let spare: TextUpstream;
  let slow: Awaited<ReturnType<typeof startSlowServer>>;
  let app: ListeningApp;
  let admin: string;
  let key: string;

  before(async () => {
    [fast, spare, slow] = await Promise.all([startTextUpstream(), startTextUpstream(), startSlowServer()]);
    const upstreams = [
      { name: 'fast', url: fast.baseUrl },
      { name: 'spare', url: spare.baseUrl },
    ];
    const models = [
      { id: 'shared' },
      { id: 'ordered', upstreams: [{ name: 'fast' }, { name: 'spare' }] },
      { id: 'single', upstream: 'fast' },
    ];
    app = await startApp({
      stack,
      livePrices: createLivePrices({ currency: 'USD', models: { shared: { input: 1, output: 4 } } }),
      gateway: {
        plugins: [
          { use: openaiText, options: { models, upstreams }, aliases: [{ name: 'other-name', of: 'single' }] },
          { use: sketchImage },
        ],
        services: { http: undefined },
        trustedOrigins: [new URL(spare.baseUrl).origin, new URL(slow.url).origin],
      },
    });
    admin = await app.makeKey({ grants: ['admin'] });
    key = await app.makeKey({ grants: ['text'] });
  });
  beforeEach(() => {
    fast.reset();
    spare.reset();
  });
  after(() => Promise.all([app?.close(), fast?.close(), spare?.close(), slow?.close()]));

  const send = (path: string, body?: object, token = admin) =>
    app.request(`/v1/admin${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
  const chat = (model: string) => post(app, CHATS, key, { model, messages: MESSAGES });
  const modelOf = async (id: string) =>
    (await send('/models')).json.data.find((model: { id: string }) => model.id === id);
  const auditOf = async (subject: string) =>
    (await send(`/audit?subject=${encodeURIComponent(subject)}`)).json.data.map(
      ({ action, from, to, note }: Record<string, string>) => [action, from, to, note].filter((part) => part),
    );

  it('are switched off for every name of theirs, and on again', async () => {
    const off = await send('/models/other-name', { enabled: false, note: 'too dear' });
    expect([off.status, off.json.health, off.json.changed], off.text).to.deep.equal([200, 'off', ['switched_off']]);
    for (const name of ['single', 'other-name']) {
      const { status, json } = await chat(name);
      expect([status, json.error.code, json.error.param]).to.deep.equal([400, 'model_not_supported', 'model']);
      expect(json.error.message).to.contain('switched this model off');
    }
    const { json } = await app.request('/v1/models', { headers: { authorization: `Bearer ${key}` } });
    const listed = json.data.map(({ id }: { id: string }) => id);
    expect(listed).to.include.members(['shared', 'ordered']);
    expect(listed).to.not.include('single').and.not.include('other-name');
    expect((await send('/models/single', { enabled: true })).json).to.include({ health: 'ok' });
    expect((await chat('other-name')).status).to.equal(200);
    expect(await auditOf('single')).to.deep.equal([['model.opened'], ['model.closed', 'too dear']]);
  });

  it('of images finish what was submitted, and take nothing new', async () => {
    const drawing = await app.makeKey({ grants: ['images'] });
    const submit = () =>
      post(app, '/v1/images/jobs', drawing, { model: 'gen-img-2', prompt: 'a lighthouse', size: '1024x1024' });
    const submitted = await submit();
    expect(submitted.status, submitted.text).to.equal(202);
    expect((await send('/models/gen-img-2', { enabled: false })).json.health).to.equal('off');
    const refused = await submit();
    expect([refused.status, refused.json.error.code]).to.deep.equal([400, 'model_not_supported']);
    expect(refused.json.error.message).to.contain('switched this model off');
    const overview = await send('/overview');
    expect(overview.json.problems, 'a choice is no problem').to.deep.equal([]);
    const ended = await until(async () => {
      const { json } = await app.request(`/v1/images/jobs/${submitted.json.id}`, {
        headers: { authorization: `Bearer ${drawing}` },
      });
      return ['completed', 'failed', 'cancelled'].includes(json.status) && json;
    });
    expect(ended.status).to.equal('completed');
    await send('/models/gen-img-2', { enabled: true });
  });

  it('share their requests by new weights from the next request on', async () => {
    const counts = async (model: string, requests: number) => {
      const before = [fast.requests.length, spare.requests.length] as const;
      for (let index = 0; index < requests; index++) expect((await chat(model)).status).to.equal(200);
      return [fast.requests.length - before[0], spare.requests.length - before[1]];
    };
    expect(await counts('ordered', 4)).to.deep.equal([4, 0]);
    const weighed = await send('/models/ordered', { weights: { fast: 1, spare: 3 } });
    expect(
      weighed.json.upstreams.map(({ weight }: { weight: number }) => weight),
      weighed.text,
    ).to.deep.equal([1, 3]);
    expect(await counts('ordered', 8)).to.deep.equal([2, 6]);
    expect((await send('/models/shared', { weights: { fast: 0, spare: 1 } })).status).to.equal(200);
    expect(await counts('shared', 4)).to.deep.equal([0, 4]);
    await send('/models/ordered', { weights: null });
    expect(await counts('ordered', 4)).to.deep.equal([4, 0]);
    expect((await modelOf('ordered')).changed).to.deep.equal([]);
    expect(await auditOf('ordered')).to.deep.equal([
      ['model.weighed', 'fast 1, spare 3', 'as configured'],
      ['model.weighed', 'as configured', 'fast 1, spare 3'],
    ]);
  });

  it('refuse weights that mean nothing, in words', async () => {
    for (const [model, weights, words] of [
      ['single', { fast: 1 }, 'it has one upstream'],
      ['gen-img-2', { fast: 1 }, 'its plugin has no weights'],
      ['shared', { fast: 1, spares: 1 }, 'Did you mean "spare"?'],
      ['shared', { fast: 1 }, 'spare is missing'],
      ['shared', { fast: 0, spare: 0 }, 'above 0'],
      ['shared', { fast: -1, spare: 1 }, 'from 0 to 1000'],
      ['shared', { fast: '1', spare: 1 }, 'or null'],
    ] as const) {
      const { status, json } = await send(`/models/${model}`, { weights });
      expect([status, json.error.code, json.error.param]).to.deep.equal([400, 'invalid_value', 'weights']);
      expect(json.error.message).to.contain(words);
    }
    expect((await send('/models/shard', { enabled: false })).json.error.message).to.contain('Did you mean "shared"?');
    expect((await send('/models/shared', {})).json.error.code).to.equal('missing_required_parameter');
    expect((await send('/models/shared', { enabled: false }, key)).status).to.equal(404);
  });

  it('are charged by new prices from the next request on, and by those of the file again', async () => {
    const costOf = async () => Number((await chat('shared')).headers.get('x-mediagate-cost')?.split(' ')[0]);
    const before = await costOf();
    expect(before).to.be.greaterThan(0);
    const jump = await send('/models/shared', { prices: { input: 10, output: 40 } });
    expect([jump.status, jump.json.error.param]).to.deep.equal([400, 'prices']);
    expect(jump.json.error.message).to.contain('input would be 10 in place of 1; output would be 40 in place of 4');
    expect((await send('/models/shared', { prices: { input: 10, output: 40 }, accept: true })).status).to.equal(200);
    expect(await costOf()).to.be.closeTo(before * 10, 0.000002);
    expect((await send('/models/shared', { prices: { input: 10 } })).json.error.message).to.contain('output would no');
    expect((await send('/models/shared', { prices: { input: -1 } })).json.error.param).to.equal('prices');
    expect((await send('/models/shared', { prices: {} })).status).to.equal(400);
    const digits = await send('/models/shared', { prices: { input: 0.12345678901, output: 4 }, accept: true });
    expect(digits.json.error.message).to.contain('prices.input');
    expect((await send('/models/shared', { prices: null })).status).to.equal(200);
    expect(await costOf()).to.equal(before);
  });

  it('are added at a server, with a key that is never shown, and removed', async () => {
    const server = { id: 'team/llama', url: spare.baseUrl, model: 'llama-3.3', key: SECRET };
    const added = await send('/models', { ...server, note: 'for the team' });
    expect([added.status, added.json.changed], added.text).to.deep.equal([200, ['added']]);
    expect(added.json.upstreams).to.deep.equal([
      { name: 'upstreams.0', url: spare.baseUrl, model: 'llama-3.3', weight: 1 },
    ]);
    expect((await chat('team/llama')).status).to.equal(200);
    const [asked] = spare.requests.slice(-1);
    expect([asked?.headers.authorization, asked?.members.model]).to.deep.equal([`Bearer ${SECRET}`, 'llama-3.3']);
    const path = `/models/${encodeURIComponent('team/llama')}`;
    expect((await send(path, { prices: { input: 2, output: 2 } })).json.changed).to.deep.equal(['prices', 'added']);
    expect((await send('/models', { ...server, key: 'sk-another' })).status).to.equal(200);
    // No name of a model is one of a route.
    expect((await send('/models', { ...server, id: 'test' })).status).to.equal(200);
    expect((await send('/models/test', { enabled: false })).json.changed).to.deep.equal(['switched_off', 'added']);
    expect((await send('/models/test/remove', {})).json).to.deep.equal({ id: 'test', removed: true });
    expect((await chat('team/llama')).status).to.equal(200);
    expect(spare.requests.at(-1)?.headers.authorization).to.equal('Bearer sk-another');
    const rows = await app.state.changedModels.list();
    expect(JSON.stringify([rows, app.log, (await send('/audit')).text, (await send('/models')).text])).to.not.contain(
      'sk-',
    );
    expect((await send(`${path}/remove`, {})).json).to.deep.equal({ id: 'team/llama', removed: true });
    expect((await chat('team/llama')).json.error.code).to.equal('model_not_found');
    expect((await app.state.changedModels.list()).find(({ model }) => model === 'team/llama')).to.deep.equal({
      model: 'team/llama',
      isClosed: false,
    });
    expect((await auditOf('team/llama')).map(([action]: string[]) => action)).to.deep.equal([
      'model.removed',
      'model.added',
      'model.priced',
      'model.added',
    ]);
  });

  it('are there for every request while their server changes', async () => {
    const server = { id: 'busy', url: spare.baseUrl };
    expect((await send('/models', server)).status).to.equal(200);
    const failed: string[] = [];
    let isOver = false;
    const clients = Array.from({ length: 4 }, async () => {
      while (!isOver) {
        const { status, text } = await chat('busy');
        if (status !== 200) failed.push(text);
      }
    });
    for (let index = 0; index < 8; index++) {
      expect((await send('/models', { ...server, model: `name-${index}` })).status).to.equal(200);
    }
    isOver = true;
    await Promise.all(clients);
    expect(failed).to.deep.equal([]);
    await send('/models/busy/remove', {});
  });

  it('finish running requests where they run when the server is another one', async () => {
    expect((await send('/models', { id: 'moved', url: slow.url })).status).to.equal(200);
    expect((await send('/models/moved', { prices: { input: 1, output: 1 } })).status).to.equal(200);
    const running = chat('moved');
    await until(() => slow.waiting.length === 1);
    expect((await send('/models', { id: 'moved', url: spare.baseUrl })).status).to.equal(200);
    const before = spare.requests.length;
    expect((await chat('moved')).status).to.equal(200);
    expect(spare.requests.length).to.equal(before + 1);
    expect((await send('/models/moved', { prices: { input: 5, output: 5 } })).status).to.equal(200);
    expect((await send('/models/moved/remove', {})).status).to.equal(200);
    slow.waiting[0]?.();
    const { status, json, headers } = await running;
    expect(headers.get('x-mediagate-cost'), 'by the lower prices').to.equal('0.002000 USD');
    expect([status, json.choices[0].message.content]).to.deep.equal([200, 'late']);
  });

  it('are changed by commands at a distance', async () => {
    const run = (...words: string[]) =>
      runCommand(['--server', app.url, 'models', ...words], {
        DATA_DIR: '/nonexistent/mediagate',
        MEDIAGATE_KEY: admin,
        TEAM_KEY: SECRET,
      });
    const off = await run('update', 'other-name', '--off', '--note', 'too dear', '--json');
    expect([off.code, off.stderr]).to.deep.equal([0, '']);
    expect(JSON.parse(off.stdout)).to.deep.equal({ id: 'single', changed: ['switched_off'] });
    expect((await run('update', 'single', '--on')).code).to.equal(0);
    expect((await run('update', 'shared', '--weight', 'fast=3', '--weight', 'spare=1')).code).to.equal(0);
    const jump = await run('update', 'shared', '--price', 'input=20');
    expect([jump.code, jump.stderr]).to.deep.equal([1, jump.stderr]);
    expect(jump.stderr).to.contain('input would be 20 in place of 1');
    expect((await run('update', 'shared', '--price', 'input=20', '--accept')).code).to.equal(0);
    expect((await modelOf('shared')).prices).to.deep.equal({ input: 20, output: 4 });
    expect((await run('update', 'shared', '--as-configured', 'weights,prices')).code).to.equal(0);
    expect((await modelOf('shared')).changed).to.deep.equal([]);
    const added = await run('add', 'team-two', '--url', spare.baseUrl, '--key-variable', 'TEAM_KEY');
    expect([added.code, added.stderr]).to.deep.equal([0, '']);
    expect((await chat('team-two')).status).to.equal(200);
    expect(spare.requests.at(-1)?.headers.authorization).to.equal(`Bearer ${SECRET}`);
    expect((await run('remove', 'team-two')).stdout).to.contain('team-two is removed');
    expect((await run('update', 'shared', '--weight', 'fast')).stderr).to.contain('such as first=3');
  });

  it('refuse addresses of private networks, names that are taken, and keys with blanks', async () => {
    for (const [body, param, words] of [
      [{ id: 'own', url: fast.baseUrl }, 'url', 'TRUSTED_ORIGINS'],
      [{ id: 'own', url: 'http://169.254.169.254/v1' }, 'url', 'TRUSTED_ORIGINS'],
      [{ id: 'own', url: 'ftp://api.example.com' }, 'url', 'http or https'],
      [{ id: 'own', url: 'https://user:word@api.example.com' }, 'url', 'http or https'],
      [{ id: 'single', url: spare.baseUrl }, 'id', 'exists already'],
      [{ id: 'other-name', url: spare.baseUrl }, 'id', 'exists already'],
      [{ id: 'a b', url: spare.baseUrl }, 'id', 'letters, digits'],
      [{ id: 'own', url: spare.baseUrl, key: 'a b' }, 'key', 'without blanks'],
      [{ id: 'own', url: spare.baseUrl, format: 'other' }, 'format', 'openai or anthropic'],
    ] as const) {
      const { status, json } = await send('/models', body);
      expect([status, json.error.code, json.error.param], JSON.stringify(json)).to.deep.equal([
        400,
        'invalid_value',
        param,
      ]);
      expect(json.error.message).to.contain(words);
    }
    expect((await send('/models/single/remove', {})).json.error.message).to.contain('in the plugins file');
    expect((await send('/models', { id: 'own' })).json.error.code).to.equal('missing_required_parameter');
  });
});

describe('weights of image and audio models', () => {
  it('share the requests of each model of an entry by its own weights, until they are taken back', async () => {
    const images = await Promise.all([startImageUpstream(), startImageUpstream()]);
    const sounds = await Promise.all([startOpenaiAudioUpstream(), startOpenaiAudioUpstream()]);
    const at = (servers: readonly { baseUrl: string }[]) => servers.map(({ baseUrl: url }) => ({ url }));
    const speakers = ['voice-1', 'voice-2'].map((id) => ({ id, operations: ['speak'] }));
    const app = await startApp({
      gateway: {
        plugins: [
          { use: openaiImage, options: { upstreams: at(images) } },
          { use: openaiAudio, options: { upstreams: at(sounds), models: speakers } },
        ],
        services: { http: undefined },
      },
    });
    try {
      const admin = await app.makeKey({ grants: ['admin'] });
      const key = await app.makeKey({ grants: ['images', 'audio'] });
      const weigh = (model: string, weights: object | null) =>
        post(app, `/v1/admin/models/${model}`, admin, { weights });
      const draw = (model = 'gen-img-2') =>
        post(app, '/v1/images/generations', key, { model, prompt: 'a lighthouse', size: '1024x1024' });
      const speak = (model: string) => post(app, '/v1/audio/speech', key, { model, input: 'Ostend.', voice: 'alloy' });
      const countsOf = async (
        servers: readonly { requests: readonly unknown[] }[],
        ask: () => ReturnType<typeof post>,
      ) => {
        const before = servers.map(({ requests }) => requests.length);
        for (let index = 0; index < 4; index += 1) {
          const { status, text } = await ask();
          expect(status, text).to.equal(200);
        }
        return servers.map(({ requests }, index) => requests.length - (before[index] ?? 0));
      };
      const [first, second] = ['upstreams.0', 'upstreams.1'];
      expect(await countsOf(images, () => draw())).to.deep.equal([4, 0]);
      const weighed = await weigh('gen-img-2', { [first]: 1, [second]: 3 });
      expect(weighed.json.upstreams, weighed.text).to.deep.equal([
        { name: first, url: images[0].baseUrl, model: 'gpt-image-2', weight: 1 },
        { name: second, url: images[1].baseUrl, model: 'gpt-image-2', weight: 3 },
      ]);
      expect(await countsOf(images, () => draw())).to.deep.equal([1, 3]);
      expect(await countsOf(images, () => draw('gen-image-2')), 'another model').to.deep.equal([4, 0]);
      await weigh('gen-img-2', null);
      expect(await countsOf(images, () => draw())).to.deep.equal([4, 0]);

      expect((await weigh('voice-1', { [first]: 0, [second]: 1 })).status).to.equal(200);
      expect(await countsOf(sounds, () => speak('voice-1'))).to.deep.equal([0, 4]);
      expect(await countsOf(sounds, () => speak('voice-2'))).to.deep.equal([4, 0]);
      expect((await weigh('voice-1', { first: 1 })).json.error.param).to.equal('weights');
    } finally {
      await app.close();
      await Promise.all([...images, ...sounds].map((one) => one.close()));
    }
  });
});
