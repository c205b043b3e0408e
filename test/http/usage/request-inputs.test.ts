/** What requests asked, over HTTP: in the API, its CSV file and on the page, only of accounts that keep it. */

import { expect } from 'chai';
import openaiText from 'mediagate/plugins/openai_text';
import { EFFECTS, inventedAudio, SPEAKING } from '../../support/audio/invented-audio.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { inventedModel, MODEL } from '../../support/images/invented-image.js';
import { invented } from '../../support/links/invented-plugin.js';
import { type ScriptedVendor, startScriptedVendor } from '../../support/models/scripted-vendor.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import { LINK, type ListeningApp, startApp } from '../http/listening-app.js';

const WHOLE = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_760_000_000,
  model: 'vendor-1',
  choices: [{ index: 0, message: { role: 'assistant', content: 'The answer of a bollard.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
});
const ANSWER = { type: 'application/json', pieces: [WHOLE] };

describeOnStacks('what requests asked', (stack) => {
  const once = onceIt(stack);
  let vendor: ScriptedVendor;
  let app: ListeningApp;
  let key: string;

  before(async () => {
    vendor = await startScriptedVendor();
    const upstreams = [{ url: vendor.url, routes: ['chat_completions'] }];
    app = await startApp({
      stack,
      messages: true,
      gateway: {
        plugins: [
          { use: openaiText, options: { models: [{ id: 'vendor-1' }], upstreams } },
          { use: inventedModel() },
          { use: inventedAudio().plugin },
          { use: invented({}) },
        ],
        services: { http: undefined },
      },
    });
  });
  after(() => Promise.all([app.close(), vendor.close()]));
  beforeEach(async () => {
    key = await app.makeKey({ grants: ['text', 'images', 'audio', 'extract'], rpm: null });
    vendor.answer(() => ANSWER);
  });
  afterEach(() => app.state.requestLog.inputs.setDays('local', null));

  const headers = () => ({ authorization: `Bearer ${key}`, 'content-type': 'application/json' });
  const post = (path: string, body: object) =>
    app.request(path, { method: 'POST', headers: headers(), body: JSON.stringify(body) });

  /** Route and input of each request, oldest first, once there are so many. */
  async function asked(count: number): Promise<[string, unknown][]> {
    const rows = await until(async () => {
      await app.state.admissions.flush();
      await app.state.usage.flushCounts();
      await app.state.requestLog.inputs.flush();
      const { json } = await app.request('/v1/usage/requests', { headers: headers() });
      return json.data.length === count && json.data;
    });
    return rows.map((row: { route: string; input?: string | null }) => [row.route, row.input]).reverse();
  }

  const sendAll = async () => {
    const history = [
      { role: 'user', content: 'first' },
      { role: 'assistant', content: 'bollard' },
    ];
    await post('/v1/chat/completions', {
      model: 'vendor-1',
      messages: [...history, { role: 'user', content: 'Hi =1' }],
    });
    const parts = [{ type: 'text', text: 'from parts' }];
    const messages = [{ role: 'user', content: parts }];
    await post('/v1/messages', { model: 'vendor-1', max_tokens: 9, messages });
    const long = { role: 'user', content: 'x'.repeat(400_000) };
    const last = { role: 'user', content: 'after a long one' };
    await post('/v1/chat/completions', { model: 'vendor-1', messages: [long, last] });
    await post('/v1/audio/speech', { model: SPEAKING, input: 'Say this.', voice: 'alloy' });
    await post('/v1/audio/sound-effects', { model: EFFECTS, text: 'a foghorn' });
    await post('/v1/images/generations', { model: MODEL, prompt: 'a harbour', response_format: 'url' });
    await post('/v1/extract', { url: LINK });
    await post('/v1/extract/batch', { urls: [`${LINK}?b=1`, `${LINK}?b=2`] });
  };

  once('is in no answer and in no table by default', async () => {
    await sendAll();
    const rows = await asked(9);
    expect(rows.every(([, input]) => input === undefined)).to.equal(true);
    const csv = await app.request('/v1/usage/requests?format=csv', { headers: headers() });
    expect(csv.text.split('\r\n')[0]).to.match(/,output_tokens$/);
  });

  it('is there for each kind of request once the account turned it on, without answers', async () => {
    await app.state.requestLog.inputs.setDays('local', 7);
    await sendAll();
    expect(await asked(9)).to.have.deep.members([
      ['/v1/chat/completions', 'Hi =1'],
      ['/v1/messages', 'from parts'],
      ['/v1/chat/completions', 'after a long one'],
      ['/v1/audio/speech', 'Say this.'],
      ['/v1/audio/sound-effects', 'a foghorn'],
      ['/v1/images/jobs', 'a harbour'],
      ['/v1/extract', LINK],
      ['/v1/extract/batch', `${LINK}?b=1`],
      ['/v1/extract/batch', `${LINK}?b=2`],
    ]);
    const { text } = await app.request('/v1/usage/requests?format=csv', { headers: headers() });
    const [head = '', ...lines] = text.trim().split('\r\n');
    expect(head).to.match(/,input$/);
    expect(lines.filter((line) => line.endsWith(',a harbour'))).to.have.length(1);
    expect(text).not.to.contain('bollard');
    expect(app.log.some((line) => JSON.stringify(line).includes('a foghorn'))).to.equal(false);
    await app.state.requestLog.inputs.setDays('local', null);
    expect((await asked(9)).every(([, input]) => input === undefined)).to.equal(true);
  });

  once('is there for each link of a background batch', async () => {
    await app.state.requestLog.inputs.setDays('local', 7);
    await post('/v1/extract/batches', { urls: [`${LINK}?job=1`] });
    expect(await asked(1)).to.deep.equal([['/v1/extract/batches', `${LINK}?job=1`]]);
  });
});
