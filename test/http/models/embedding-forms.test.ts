/** Embedding vectors as lists or base64, in the requested form. */

import { expect } from 'chai';
import openaiText from 'mediagate/plugins/openai_text';
import OpenAI from 'openai';
import { startTextUpstream, type TextUpstream } from '../../support/models/text-upstream.js';
import { vectorOf } from '../../support/models/text-upstream-embeddings.js';
import { type ListeningApp, startApp } from '../http/listening-app.js';
import { post } from './text-app.js';

const PATH = '/v1/embeddings';
const MODEL = 'vectors';
const FORMS = ['float', 'base64'] as const;

describe('form of vectors', () => {
  let upstream: TextUpstream;
  let app: ListeningApp;
  let key: string;

  beforeEach(async () => {
    upstream = await startTextUpstream();
    app = await startApp({
      gateway: {
        plugins: [
          {
            use: openaiText,
            options: { models: MODEL, routes: ['embeddings'], upstreams: [{ url: upstream.baseUrl }] },
          },
        ],
        services: { http: undefined },
      },
    });
    key = await app.makeKey({ grants: ['text'] });
  });
  afterEach(async () => {
    await app.close();
    await upstream.close();
  });

  const encode = (vector: readonly number[]) => Buffer.from(Float32Array.from(vector).buffer).toString('base64');
  const answerIn = (form: string, vectors: readonly (readonly number[])[], more = {}) => ({
    object: 'list',
    data: vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: form === 'float' ? vector : encode(vector),
    })),
    model: MODEL,
    usage: { prompt_tokens: 2, total_tokens: 2 },
    ...more,
  });
  const always = (body: object) =>
    upstream.behave(() => ({ does: 'bytes', bytes: JSON.stringify(body), contentType: 'application/json' }));

  it('is the requested one in every form of the upstream', async () => {
    const vectors = [vectorOf('a'), vectorOf('b')];
    for (const has of FORMS) {
      always(answerIn(has, vectors, { note: 'kept', big: 12345678901234 }));
      for (const form of [...FORMS, undefined]) {
        const { status, json } = await post(app, PATH, key, { model: MODEL, input: ['a', 'b'], encoding_format: form });
        const expected = answerIn(form ?? 'float', vectors, { note: 'kept', big: 12345678901234 });
        expect([status, json], `${has} asked as ${form}`).to.deep.equal([200, expected]);
      }
      const openai = new OpenAI({ apiKey: key, baseURL: `${app.url}/v1`, maxRetries: 0 });
      const { data } = await openai.embeddings.create({ model: MODEL, input: ['a', 'b'] });
      expect(data.map(({ embedding }) => Array.from(embedding))).to.deep.equal(vectors);
    }
  });

  it('is the requested one in a large answer too, which another thread reads', async () => {
    const vectors = Array.from({ length: 600 }, (_, index) => vectorOf(String(index), 256));
    for (const [has, form] of [
      ['float', 'base64'],
      ['base64', 'float'],
    ] as const) {
      always(answerIn(has, vectors));
      const { json } = await post(app, PATH, key, { model: MODEL, input: 'a', encoding_format: form });
      expect(json).to.deep.equal(answerIn(form, vectors));
    }
  });

  it('is left to an upstream that refuses the requested form, which is remembered', async () => {
    upstream.behave(({ members }) =>
      members.encoding_format === undefined
        ? { does: 'answer' }
        : { does: 'error', status: 422, message: 'encoding_format must not be base64', param: 'encoding_format' },
    );
    for (let count = 0; count < 2; count += 1) {
      const { status, json } = await post(app, PATH, key, { model: MODEL, input: 'a', encoding_format: 'base64' });
      expect([status, json.data?.[0].embedding]).to.deep.equal([200, encode(vectorOf('a'))]);
    }
    const forms = upstream.requests.map(({ members }) => members.encoding_format);
    expect(forms).to.deep.equal(['base64', undefined, undefined]);
  });

  it("is unchanged for a vendor's own form, and for other values", async () => {
    const body = { object: 'list', data: [{ embedding: 'AQID', index: 0 }, { embedding: [[1, 2]] }], model: MODEL };
    always(body);
    for (const form of ['ubinary', 'float']) {
      const { json } = await post(app, PATH, key, { model: MODEL, input: 'a', encoding_format: form });
      expect(json).to.deep.equal(body);
    }
    upstream.behave(() => ({ does: 'error', status: 400, message: 'This input is too long.', param: 'input' }));
    const refused = await post(app, PATH, key, { model: MODEL, input: 'a', encoding_format: 'base64' });
    expect([refused.status, refused.json.error.param]).to.deep.equal([400, 'input']);
  });

  it('has the number of tries in its header', async () => {
    const second = await startTextUpstream();
    const upstreams = [{ url: upstream.baseUrl }, { url: second.baseUrl }];
    const both = await startApp({
      gateway: {
        plugins: [{ use: openaiText, options: { models: MODEL, routes: ['embeddings'], upstreams, restMs: 1 } }],
        services: { http: undefined },
      },
    });
    try {
      for (const one of [upstream, second]) {
        one.behave(() =>
          upstream.requests.length + second.requests.length === 1
            ? { does: 'error', status: 503, message: 'Busy.' }
            : { does: 'answer' },
        );
      }
      const answer = await post(both, PATH, await both.makeKey({ grants: ['text'] }), { model: MODEL, input: 'a' });
      expect([answer.status, answer.headers.get('x-mediagate-attempts')]).to.deep.equal([200, '2']);
    } finally {
      await both.close();
      await second.close();
    }
  });
});
