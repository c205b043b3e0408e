/** Model answers of tens of megabytes over HTTP. */

import { expect } from 'chai';
import { scriptedText } from '../../support/models/scripted-text.js';
import { until } from '../../support/until.js';
import { type ListeningApp, startApp } from './listening-app.js';

const MB = 1024 * 1024;
const usage = '"usage":{"prompt_tokens":5,"total_tokens":5}';

/** As an upstream has it: `[-0.0123456,-0.0123456,…]`. */
const numbers = (megabytes: number) => `[${'-0.0123456,'.repeat((megabytes * MB) / 11)}0]`;

describe('large answers over HTTP', () => {
  let app: ListeningApp;
  let key: string;
  let answer = '';

  before(async () => {
    const upstream = scriptedText(() => ({ contentType: 'application/json', pieces: [Buffer.from(answer)] }), {
      models: [
        { id: 'vectors', routes: ['embeddings'], efforts: [] },
        { id: 'm-5.5', routes: ['chat_completions'], efforts: [] },
      ],
    });
    app = await startApp({ messages: true, gateway: { plugins: [{ use: upstream.plugin }] } });
    key = await app.makeKey({ grants: ['text'] });
  });
  after(() => app.close());

  const post = (route: string, body: object) =>
    fetch(`${app.url}/v1/${route}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  it('passes vectors of 40 MB through, byte for byte but for the name, and counts the reported usage', async () => {
    const data = `"data":[{"object":"embedding","index":0,"embedding":${numbers(40)}}]`;
    answer = `{"object":"list",${data},"model":"vendor/embedding-x9",${usage}}`;
    const response = await post('embeddings', { model: 'vectors', input: 'a harbour' });
    expect(response.status).to.equal(200);
    const expected = answer.replace('vendor/embedding-x9', 'vectors');
    expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.from(expected))).to.equal(true);
    const today = new Date().toISOString().slice(0, 10);
    const entry = await until(async () => {
      await app.state.admissions.flush();
      const entries = await app.state.usage.entries({ from: today, to: today }, 10);
      return entries.find(({ model }) => model === 'vectors');
    });
    expect(entry).to.include({ inputTokens: 5, estimated: false });
  });

  it('translates a large answer completely', async () => {
    const text = 'a harbour "and" a tug\n'.repeat(100_000);
    const message = { role: 'assistant', content: text };
    answer = JSON.stringify({
      id: 'c',
      object: 'chat.completion',
      created: 1,
      model: 'v',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage: { prompt_tokens: 5, completion_tokens: 9, total_tokens: 14 },
    });
    const messages = [{ role: 'user', content: 'Name a harbour.' }];
    const response = await post('messages', { model: 'm-5.5', max_tokens: 100, messages });
    expect(response.status).to.equal(200);
    const { content } = (await response.json()) as { content: { text: string }[] };
    expect(content.map((block) => block.text)).to.deep.equal([text]);
    answer = answer.replace(text.slice(0, 9), ' '.repeat(17 * MB));
    expect((await post('messages', { model: 'm-5.5', max_tokens: 100, messages })).status).to.equal(502);
  });

  it('refuse a chat that is longer than any model writes', async () => {
    answer = `{"id":"c","model":"v","choices":[],"logprobs":${numbers(33)}}`;
    const messages = [{ role: 'user', content: 'Name a harbour.' }];
    const response = await post('chat/completions', { model: 'm-5.5', messages });
    expect(response.status).to.equal(502);
    expect(await response.json()).to.have.nested.property('error.code', 'upstream_error');
  });
});
