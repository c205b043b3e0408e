/** Latency of models in the admin API and in the console: the first token of a stream, and its end. */

import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'chai';
import openaiText from 'mediagate/plugins/openai_text';
import { type OriginServer, startOrigin } from '../../support/links/origin-server.js';
import { type ConsoleApp, startConsoleApp } from '../console/console-app.js';

const FIRST_MS = 150;
const REST_MS = 300;
const ANSWERS = 3;

describe('the latency of a model', () => {
  let its: ConsoleApp;
  let admin: string;
  let key: string;
  let isBroken = false;
  let vendor: OriginServer;

  before(async () => {
    const event = (content: string) => {
      const choices = [{ index: 0, delta: { content } }];
      return `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', created: 1, model: 'x', choices })}\n\n`;
    };
    vendor = await startOrigin(async (request, response) => {
      if (request.method !== 'POST') return void response.writeHead(404).end();
      request.resume();
      if (isBroken) return void response.writeHead(500).end();
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.flushHeaders();
      await sleep(FIRST_MS);
      response.write(event('Os'));
      await sleep(REST_MS);
      response.end(`${event('tend.')}data: [DONE]\n\n`);
    });
    const options = { models: 'm-5.5', upstreams: [{ url: `${vendor.origin}/v1` }] };
    its = await startConsoleApp({
      plugins: [{ use: openaiText, options }],
      gateway: { trustedOrigins: [vendor.origin] },
    });
    admin = await its.app.makeKey({ grants: ['admin'] });
    key = await its.app.makeKey({ grants: ['text'] });
    await its.app.keys.refresh();
  });
  after(async () => {
    await its?.app.close();
    await vendor?.close();
  });

  const chat = () =>
    its.app.request('/v1/chat/completions', {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'm-5.5', stream: true, messages: [{ role: 'user', content: 'Where?' }] }),
    });
  async function latency() {
    const { json } = await its.app.request('/v1/admin/models', { headers: { authorization: `Bearer ${admin}` } });
    return json.data.find(({ id }: { id: string }) => id === 'm-5.5').latency;
  }

  it('is absent before the first answer, and is shown for programs and people afterwards', async () => {
    expect(await latency()).to.equal(undefined);
    for (let index = 0; index < ANSWERS; index += 1) expect((await chat()).text).to.contain('tend.');
    const found = await latency();
    expect(found.answers).to.equal(ANSWERS);
    expect(found.first_token_p50_ms).to.be.within(FIRST_MS * 0.9, FIRST_MS + REST_MS);
    expect(found.p50_ms).to.be.within((FIRST_MS + REST_MS) * 0.9, 20_000);
    expect(found.p95_ms - found.first_token_p50_ms).to.be.at.least(REST_MS * 0.6);
    const { page } = await its.read('/admin/models');
    const row = page('a[href="/admin/models/m-5.5"]').closest('tr').text();
    expect(row).to.match(/[\d.,]+ m?s/);
    const { page: own } = await its.read('/admin/models/m-5.5');
    expect(own('main .totals').first().text()).to.match(/First token, p50\d+ ms p95/);
    expect(own('main').text()).to.contain(`${ANSWERS} answers in the last hour`);
  });

  it('does not count failures', async () => {
    isBroken = true;
    expect((await chat()).status).to.be.at.least(500);
    expect((await latency()).answers).to.equal(ANSWERS);
  });
});
