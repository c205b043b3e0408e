/** Tests of a model by the API, the command and the console: how long it took, or what the server said. */

import { expect } from 'chai';
import { GatewayError } from '../../../core/runtime/errors.js';
import { scriptedText } from '../../support/models/scripted-text.js';
import { runCommand } from '../../support/processes/command-line.js';
import { type ConsoleApp, startConsoleApp } from '../console/console-app.js';

const USAGE = { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 };

describe('tests of models by operators', () => {
  let its: ConsoleApp;
  let admin: string;

  before(async () => {
    const text = scriptedText(({ model }) => {
      if (model === 'm-chat') throw new GatewayError('upstream_auth_error', 'The server refused the key <b>of</b> it.');
      const choices = [{ index: 0, message: { role: 'assistant', content: 'OK' }, finish_reason: 'stop' }];
      const answer = { id: 'c', object: 'chat.completion', created: 1, model, choices, usage: USAGE };
      return { contentType: 'application/json', pieces: [Buffer.from(JSON.stringify(answer))] };
    });
    its = await startConsoleApp({ plugins: [{ use: text.plugin }] });
    admin = await its.app.makeKey({ grants: ['admin'] });
  });
  after(() => its?.app.close());

  const send = ({ model, ...body }: { model: string; request?: boolean; prompt?: string }) =>
    its.app.request(`/v1/admin/models/${model}/test`, {
      method: 'POST',
      headers: { authorization: `Bearer ${admin}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  it('say how long a short answer took, and charge no key', async () => {
    const { status, json, text } = await send({ model: 'm-5.5' });
    expect([status, json.ok], text).to.deep.equal([200, true]);
    expect(json.results.at(-1).detail).to.match(/answered in \d+ ms, 10 tokens\./);
    const { json: usage } = await its.app.request('/v1/admin/usage?by=model', {
      headers: { authorization: `Bearer ${admin}` },
    });
    expect(usage.data).to.deep.equal([]);
    expect((await send({ model: 'm-5.5', request: false })).json.ok).to.equal(true);
  });

  it('say in words what the server refused, and which model is meant', async () => {
    const { status, json } = await send({ model: 'm-chat' });
    expect([status, json.ok]).to.deep.equal([200, false]);
    expect(json.results.at(-1).detail).to.match(/^m-chat: a short request failed\. /);
    const unknown = await send({ model: 'm-5.6' });
    expect([unknown.status, unknown.json.error.param]).to.deep.equal([400, 'model']);
    expect(unknown.json.error.message).to.contain('Did you mean "m-5.5"?');
    expect((await send({ model: 'm-5.5', prompt: 'x' })).json.error.code).to.equal('unsupported_parameter');
  });

  it('are a form of the console and a command', async () => {
    const { status, page } = await its.post('/admin/models/m-5.5/test');
    expect(status).to.equal(200);
    expect(page('.notice-good').text()).to.match(/m-5\.5.*answered in \d+ ms/s);
    const failed = await its.post('/admin/models/m-chat/test');
    expect(failed.page('.notice-warn').text()).to.contain('a short request failed');
    expect(failed.page('.notice-warn b')).to.have.length(0);
    expect((await its.post('/admin/models/none/test')).status).to.equal(400);
    const { code, stdout, stderr } = await runCommand(['--server', its.app.url, 'models', 'test', 'm-5.5'], {
      DATA_DIR: '/nonexistent/mediagate',
      MEDIAGATE_KEY: admin,
    });
    expect([code, stderr]).to.deep.equal([0, '']);
    expect(stdout).to.match(/answered in \d+ ms/);
  });
});
