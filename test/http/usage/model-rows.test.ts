/** What the usage log lists of models and images: how each ended, in the words of a code. */

import { expect } from 'chai';
import { GatewayError } from 'mediagate';
import openaiText from 'mediagate/plugins/openai_text';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { inventedModel, MODEL } from '../../support/images/invented-image.js';
import {
  chatChunk,
  dataEvents,
  type ScriptedVendor,
  startScriptedVendor,
  type VendorScript,
} from '../../support/models/scripted-vendor.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';

const WHOLE = JSON.stringify({
  id: 'chatcmpl-1',
  object: 'chat.completion',
  created: 1_760_000_000,
  model: 'vendor-1',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Ahoy.' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 },
});

describeOnStacks('rows of models in the usage log', (stack) => {
  const once = onceIt(stack);
  let vendor: ScriptedVendor;
  let app: ListeningApp;
  let key: string;
  let drawn: () => Promise<never>;

  before(async () => {
    vendor = await startScriptedVendor();
    const upstreams = [{ url: vendor.url, routes: ['chat_completions'] }];
    app = await startApp({
      stack,
      gateway: {
        plugins: [
          { use: openaiText, options: { models: [{ id: 'vendor-1' }], upstreams } },
          { use: inventedModel(() => drawn()) },
        ],
        services: { http: undefined },
      },
    });
  });
  after(() => Promise.all([app.close(), vendor.close()]));
  beforeEach(async () => {
    key = await app.makeKey({ grants: ['text', 'images'], rpm: null });
  });

  const post = (path: string, body: object) =>
    app.request(path, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  async function rows() {
    const query = { keyIds: [key.slice(6, 14)], accountId: 'local', from: 0, to: 1e14 };
    return until(async () => {
      await app.state.admissions.flush();
      await app.state.usage.flushCounts();
      const found = await app.state.requestLog.list(query, 10);
      return found.length > 0 && found;
    });
  }

  async function chat(script: VendorScript, stream = false) {
    vendor.answer(script);
    await post('/v1/chat/completions', { model: 'vendor-1', stream, messages: [{ role: 'user', content: 'Hi' }] });
    return rows();
  }

  once('have the tokens and no code if the answer is whole', async () => {
    const listed = await chat({ type: 'application/json', pieces: [WHOLE] });
    expect(listed).to.have.length(1);
    expect(listed[0]).to.include({ model: 'vendor-1', status: 200, errorCode: null, refused: false });
    expect(listed[0]).to.include({ route: '/v1/chat/completions', inputTokens: 7, outputTokens: 3 });
    expect(listed[0]?.requestId).to.match(/^req_[\w-]+$/);
  });

  once('have the code of an upstream that fails, once', async () => {
    const listed = await chat({ status: 500, type: 'application/json', pieces: ['{"error":{"message":"Boom"}}'] });
    expect(listed).to.have.length(1);
    expect(listed[0]).to.include({ status: 502, errorCode: 'upstream_error', refused: false });
  });

  once('have a code if a stream breaks off after its status was sent', async () => {
    const pieces = [dataEvents(chatChunk({ role: 'assistant', content: 'Ahoy.' }))];
    const listed = await chat({ pieces, ends: 'break' }, true);
    expect(listed).to.have.length(1);
    expect(listed[0]).to.include({ status: 200, errorCode: 'upstream_error' });
    const { json } = await app.request('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
    expect(json.total).to.include({ requests: 1, failed: 1, refused: 0 });
  });

  it('have an image that failed, by the id and the code of its job, also where a client waits', async () => {
    drawn = () => Promise.reject(new GatewayError('moderation_blocked', 'No.'));
    const { status } = await post('/v1/images/generations', { model: MODEL, prompt: 'zq', size: '1024x1024' });
    expect(status).to.equal(400);
    const listed = await rows();
    expect(listed).to.have.length(1);
    expect(listed[0]).to.include({ route: '/v1/images/jobs', status: 400, errorCode: 'moderation_blocked' });
    expect(listed[0]?.requestId).to.match(/^imgjob_/);
    const { json } = await app.request('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
    expect(json.total).to.include({ requests: 1, failed: 1, images: 0 });
  });
});
