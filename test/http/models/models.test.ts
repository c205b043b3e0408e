/** The list of models for clients of OpenAI's and Anthropic's format. */

import Anthropic from '@anthropic-ai/sdk';
import { expect } from 'chai';
import sketchImage from 'mediagate/plugins/sketch_image';
import { scriptedText } from '../../support/models/scripted-text.js';
import { rejection } from '../../support/rejection.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';

const MESSAGES = ['/v1/messages', '/v1/messages/count_tokens'];

describe('the list of models', () => {
  let app: ListeningApp;
  const efforts: string[] = [];
  const routes = ['responses'] as const;
  const models = ['code-auto-review', 'm-own', 'm-5.4', 'm-5.5'].map((id) => ({ id, routes, efforts }));
  const get = (path: string, headers: Record<string, string>) => app.request(path, { headers });
  const bearer = async (...made: Parameters<ListeningApp['makeKey']>) => ({
    authorization: `Bearer ${await app.makeKey(...made)}`,
  });

  before(async () => {
    const { plugin } = scriptedText(() => ({ pieces: [] }), { models });
    app = await startApp({ gateway: { plugins: [{ use: plugin }] } });
  });
  after(() => app.close());

  it('has exactly the fields that clients expect, in the order of the service document', async () => {
    const { status, json } = await get('/v1/models', await bearer({ grants: ['text'] }));
    expect(status).to.equal(200);
    const shared = { object: 'model', owned_by: 'gateway', routes: ['/v1/responses'] };
    const ids = ['m-own', 'm-5.5', 'm-5.4', 'code-auto-review'];
    const data = ids.map((id, index) => ({ ...shared, id, created: json.data[index].created }));
    expect(json).to.deep.equal({ object: 'list', data });
    expect(Object.keys(json)).to.deep.equal(['object', 'data']);
    for (const model of json.data) {
      expect(Object.keys(model)).to.deep.equal(['id', 'object', 'created', 'owned_by', 'routes']);
      expect(model.created).to.satisfy(Number.isSafeInteger);
    }
  });

  it('returns one model by its name', async () => {
    const headers = await bearer({ grants: ['audio'] });
    const { json } = await get('/v1/models/m-5.5', headers);
    expect(json).to.include({ id: 'm-5.5', object: 'model' });
    const missing = await get('/v1/models/m-99', headers);
    expect([missing.status, missing.json.error.code, missing.json.error.param]).to.deep.equal([
      404,
      'model_not_found',
      'model',
    ]);
  });

  it('shows the models that a key may use', async () => {
    const headers = await bearer({ grants: ['text'] }, { models: ['m-5.5'] });
    const { json } = await get('/v1/models', headers);
    expect(json.data.map(({ id }: { id: string }) => id)).to.deep.equal(['m-5.5']);
    expect((await get('/v1/models/m-5.4', headers)).json.error.code).to.equal('model_not_allowed');
  });

  it('refuses keys that are only for images, and keys in another header', async () => {
    const refused = await get('/v1/models', await bearer({ grants: ['images'] }));
    expect([refused.status, refused.json.error.code]).to.deep.equal([403, 'route_not_allowed']);
    const unsent = await get('/v1/models', { 'x-api-key': await app.makeKey({ grants: ['text'] }) });
    expect([unsent.status, unsent.json.error.code]).to.deep.equal([401, 'missing_api_key']);
  });

  it('marks disabled routes so that clients recognize them', async () => {
    for (const path of MESSAGES) {
      for (const headers of [await bearer(), { 'x-api-key': await app.makeKey({ grants: ['images'] }) }]) {
        const answer = await app.request(path, { method: 'POST', headers, body: '{"model":"m-5.5"}' });
        expect([answer.status, answer.headers.get('x-should-retry')]).to.deep.equal([403, 'false']);
        expect(answer.json).to.deep.equal({
          type: 'error',
          error: {
            type: 'permission_error',
            message: 'The messages route is disabled. Use /v1/responses or /v1/chat/completions.',
          },
          request_id: answer.headers.get('request-id'),
        });
      }
      const otherwise = await app.request(path);
      expect([otherwise.status, otherwise.headers.get('allow')]).to.deep.equal([405, 'POST']);
      expect([otherwise.json.type, otherwise.json.error.type]).to.deep.equal(['error', 'invalid_request_error']);
      const beside = await app.request(`${path}/none`);
      expect([beside.status, beside.json.error.type]).to.deep.equal([404, 'not_found_error']);
      expect(beside.json.request_id).to.equal(beside.headers.get('request-id'));
      const doubled = await app.request('/v1/v1/messages', { method: 'POST' });
      expect([doubled.status, doubled.json.type]).to.deep.equal([404, 'error']);
      expect(doubled.json.error.message).to.match(/a base URL has no \/v1\.$/);
      const unknown = await app.request(path, { method: 'POST', headers: { 'x-api-key': 'sk-wrong' }, body: '{}' });
      expect([unknown.status, unknown.json.type, unknown.json.error.type]).to.deep.equal([
        401,
        'error',
        'authentication_error',
      ]);
    }
  });

  describe("for clients of Anthropic's format", () => {
    let enabled: ListeningApp;
    let key: string;
    const clientOf = (apiKey: string) => new Anthropic({ apiKey, baseURL: enabled.url, maxRetries: 0 });

    before(async () => {
      const { plugin } = scriptedText(() => ({ pieces: [] }), { models });
      enabled = await startApp({ messages: true, gateway: { plugins: [{ use: plugin }, { use: sketchImage }] } });
      key = await enabled.makeKey({ grants: ['text'] });
    });
    after(() => enabled.close());

    it('lists the text models in pages', async () => {
      const { models } = clientOf(key);
      const first = await models.list({ limit: 3 });
      expect(first).to.deep.include({ has_more: true, first_id: 'm-own', last_id: 'm-5.4' });
      expect(first.data[0]).to.deep.equal({
        type: 'model',
        id: 'm-own',
        display_name: 'm-own',
        created_at: '2026-06-15T00:00:00.000Z',
        lifecycle: 'active',
        deprecated_at: null,
        retires_at: null,
        line: null,
        capabilities: null,
        max_input_tokens: null,
        max_tokens: null,
      });
      const idsOf = async (query: Anthropic.ModelListParams) => {
        const ids: string[] = [];
        for await (const { id } of models.list(query)) ids.push(id);
        return ids;
      };
      const all = ['m-own', 'm-5.5', 'm-5.4', 'code-auto-review'];
      for (const query of [{}, { limit: 1 }, { limit: 3 }, { lifecycle: ['active' as const] }]) {
        expect(await idsOf(query), JSON.stringify(query)).to.deep.equal(all);
      }
      expect(await idsOf({ lifecycle: ['retired'] })).to.deep.equal([]);
      const { data, has_more: more } = await models.list({ before_id: 'code-auto-review', limit: 2 });
      expect([data.map(({ id }) => id), more]).to.deep.equal([['m-5.5', 'm-5.4'], true]);
      expect((await models.list({ before_id: 'm-own' })).data).to.deep.equal([]);
      expect(await models.retrieve('m-own')).to.include({ type: 'model', id: 'm-own' });
      for (const query of [
        { limit: 0 },
        { limit: 1_001 },
        { after_id: 'm-99' },
        { after_id: 'm-own', before_id: 'm-own' },
      ]) {
        const refusal = (await rejection(models.list(query))) as InstanceType<typeof Anthropic.APIError>;
        expect([refusal.status, refusal.type]).to.deep.equal([400, 'invalid_request_error']);
        expect(refusal.apiMessage).to.match(/^(limit|after_id|Send after_id)/);
      }
    });

    it('refuses in the format of those clients, and in the usual one for others', async () => {
      const narrow = await enabled.makeKey({ grants: ['text'] }, { models: ['m-5.4'] });
      expect((await clientOf(narrow).models.list()).data.map(({ id }) => id)).to.deep.equal(['m-5.4']);
      const pictures = await enabled.makeKey({ grants: ['images'] });
      for (const [work, of] of [
        [() => clientOf(narrow).models.retrieve('m-5.5'), Anthropic.PermissionDeniedError],
        [() => clientOf(pictures).models.list(), Anthropic.PermissionDeniedError],
        [() => clientOf('sk-mg-wrong').models.list(), Anthropic.AuthenticationError],
        [() => clientOf(key).models.retrieve('gen-img-2'), Anthropic.NotFoundError],
      ] as const) {
        const refusal = (await rejection(work())) as InstanceType<typeof Anthropic.APIError>;
        expect(refusal).to.be.instanceOf(of);
        expect(refusal.requestID).to.match(/^req_/);
      }
      const plain = await enabled.request('/v1/models', { headers: { authorization: `Bearer ${key}` } });
      expect(plain.json).to.include({ object: 'list' });
      const unsent = await enabled.request('/v1/models', { headers: { 'x-api-key': key } });
      expect([unsent.status, unsent.json.error.code]).to.deep.equal([401, 'missing_api_key']);
      const disabled = await get('/v1/models', {
        ...(await bearer({ grants: ['text'] })),
        'anthropic-version': '2023-06-01',
      });
      expect(disabled.json).to.include({ object: 'list' });
    });
  });
});
