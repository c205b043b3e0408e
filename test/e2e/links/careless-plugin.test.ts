/** A plugin that does not await its own work, in a running gateway. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { type GatewayProcess, type MadeKey, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { variants } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';

const ENTRY = 'careless-one';

/** Starts work that it does not wait for. The id of an item decides what goes wrong. */
const CARELESS = `
const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const deaf = () => new Promise(() => {});
const careless = {
  forgotten: () => void Promise.reject(new Error('forgotten in a call')),
  late: () => void later(50).then(() => Promise.reject(new Error('forgotten after a call'))),
  thrown: () => void setTimeout(() => { throw new Error('thrown after a call'); }, 50),
  deaf,
};
const document = (id) => ({
  common: { title: id },
  ids: { video_id: id, canonical_url: 'https://careless.example/' + id },
  metrics: {},
  media: { image_urls: [], video_urls: [] },
  raw_stats: {},
});
export default {
  name: 'careless',
  apiVersion: 1,
  summary: 'Starts work that it does not wait for.',
  provides: ['extractor', 'text'],
  setup: () => ({
    extractors: [{
      platform: 'careless',
      displayName: 'Careless',
      linkForms: ['https://careless.example/<word>'],
      match: (url) => {
        const id = url.pathname.slice(1);
        return url.hostname === 'careless.example' ? { kind: 'video', id, url: url.origin + '/' + id } : undefined;
      },
      async extract({ link: { id } }) {
        await later(1);
        await careless[id]();
        return { method: 'careless', data: document(id) };
      },
    }],
    textProviders: [{
      models: [{ id: 'careless-text', routes: ['chat_completions'], efforts: [] }],
      async send({ body }) {
        const asked = JSON.parse(Buffer.from(body).toString()).messages[0].content;
        await careless[asked]();
        const choices = [{ index: 0, message: { role: 'assistant', content: 'Yes' }, finish_reason: 'stop' }];
        const answer = Buffer.from(JSON.stringify({ id: 'c', object: 'chat.completion', choices }));
        return {
          status: 200,
          headers: { 'content-type': 'application/json' },
          body: (async function* () { yield answer; })(),
          upstream: 'first',
          upstreamModel: 'm',
        };
      },
    }],
  }),
};
`;

describe('a plugin that does not await its own work', () => {
  let folder: string;
  let gateway: GatewayProcess;
  let key: MadeKey;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-careless-'));
    await writeFile(path.join(folder, 'careless.mjs'), CARELESS);
    const plugins = [{ use: './careless.mjs', id: ENTRY, timeoutMs: 1_000 }];
    await writeFile(path.join(folder, 'plugins.config.json'), JSON.stringify({ plugins }));
    const environment = { PLUGINS_CONFIG: path.join(folder, 'plugins.config.json') };
    gateway = await startGatewayProcess({ environment });
    key = await gateway.makeKey({ grants: ['extract', 'text'] });
  });
  afterEach(async () => {
    await gateway?.kill();
    await rm(folder, { recursive: true, force: true });
  });

  const extract = (what: string) => gateway.extract(key.key, { url: `https://careless.example/${what}` });
  const chat = (what: string) =>
    gateway.request('/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'careless-text', messages: [{ role: 'user', content: what }] }),
    });
  const lines = (): Record<string, unknown>[] =>
    gateway
      .output()
      .split('\n')
      .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line)] : []));
  const linesOf = (message: string) => lines().filter((line) => JSON.stringify(line).includes(message));

  const ways = [
    ['an extraction', extract],
    ['a chat', chat],
  ] as const;
  for (const [way, ask] of variants(ways, ([one]) => one === 'an extraction')) {
    it(`is named in the log: ${way}`, async () => {
      for (const [what, words] of [
        ['forgotten', 'forgotten in a call'],
        ['late', 'forgotten after a call'],
      ] as const) {
        expect((await ask(what)).status, what).to.equal(200);
        await until(() => linesOf(words).length > 0);
        expect(linesOf(words)[0], what).to.include({
          level: 'error',
          entry: ENTRY,
          message: 'unhandled promise rejection',
        });
      }
      await ask('deaf').then(({ status }) => expect(status).to.equal(504));
      await until(() => linesOf('ignores its abort signal').length > 0);
      expect(linesOf('ignores its abort signal')[0]).to.include({ level: 'warn', entry: ENTRY });

      await ask('thrown');
      await until(() => linesOf('thrown after a call').length > 0);
      expect(linesOf('thrown after a call')[0]).to.include({ level: 'error', entry: ENTRY });
    });
  }
});
