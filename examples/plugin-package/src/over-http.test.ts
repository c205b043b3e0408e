import assert from 'node:assert';
import { openReplayServer, type ReplayServer } from 'mediagate/testing/server';
import lantern from './lantern_image/index.js';
import reelbox from './reelbox/index.js';
import tide from './tide_text/index.js';

describe('over HTTP', () => {
  it('a clip of Reelbox', async () => {
    const fixtures = new URL('../src/reelbox/fixtures/', import.meta.url);
    await using server = await openReplayServer({ plugin: reelbox, fixtures });
    const { status, body } = await post(server, '/v1/extract', { url: 'https://m.reelbox.example/c/aB3dE5gH7j' });
    assert.equal(status, 200);
    assert.equal(body.data.common.title, 'A lighthouse in the fog');
    assert.deepEqual(server.unmatched, []);
  });

  it('a refusal of Lantern', async () => {
    const url = 'https://api.lantern.example/v1/pictures';
    const response = { status: 422, text: '{"refused":"unsafe"}' };
    await using server = await openReplayServer({
      plugin: lantern,
      options: { apiKey: 'lantern-key-of-the-test' },
      fixtures: [{ request: { method: 'POST', url }, response }],
    });
    const wanted = { model: 'lantern-1', prompt: 'A lighthouse', size: '1024x1024' };
    const { status, body } = await post(server, '/v1/images/generations', wanted);
    assert.equal(status, 400);
    assert.equal(body.error.code, 'moderation_blocked');
  });

  it('a chat with Tide', async () => {
    const url = 'https://api.tide.example/v1/chat/completions';
    const choices = [{ index: 0, message: { role: 'assistant', content: 'At noon.' }, finish_reason: 'stop' }];
    const reply = { id: 'chat-1', object: 'chat.completion', model: 'tide-large-v2', choices };
    const response = { status: 200, headers: { 'content-type': 'application/json' }, text: JSON.stringify(reply) };
    await using server = await openReplayServer({
      plugin: tide,
      options: { apiKey: 'tide-key-of-the-test' },
      fixtures: [{ request: { method: 'POST', url, bodyIncludes: ['high water'] }, response }],
    });
    const messages = [{ role: 'user', content: 'When is high water?' }];
    const { status, body } = await post(server, '/v1/chat/completions', { model: 'tide-1', messages });
    assert.equal(status, 200);
    assert.equal(body.model, 'tide-1');
    assert.equal(body.choices[0].message.content, 'At noon.');
  });
});

async function post({ url, apiKey }: ReplayServer, route: string, request: object) {
  const response = await fetch(url + route, {
    method: 'POST',
    headers: { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(request),
  });
  const body: ReturnType<typeof JSON.parse> = await response.json();
  return { status: response.status, body };
}
