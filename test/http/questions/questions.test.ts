/** Questions about links: the answer with its sources, its cost, and captions that contain orders. */

import { expect } from 'chai';
import { type Extraction, GatewayError, type TextCall } from 'mediagate';
import { parseBudget } from '../../../server/budgets/index.js';
import { createPrices } from '../../../server/prices/index.js';
import { readAnswer } from '../../../server/questions/question-answers.js';
import type { Question } from '../../../server/questions/question-fields.js';
import type { SourceText } from '../../../server/questions/question-prompt.js';
import { invented, inventedExtraction } from '../../support/links/invented-plugin.js';
import { scriptedText } from '../../support/models/scripted-text.js';
import { LINK, type ListeningApp, startApp } from '../http/listening-app.js';
import { connect } from '../mcp/client.js';
import { ORDERS } from './orders.js';

const QUESTION = { url: LINK, question: 'What is it about?' };
const GOOD = { answer: 'A tug.', claims: [{ text: 'It is a tug.', field: 'common.title' }] };

interface Chat {
  messages: { role: string; content: string }[];
  tools?: unknown;
}

describe('questions about links', function () {
  this.timeout(60_000);
  let app: ListeningApp;
  let key: string;
  let reply: (chat: Chat) => unknown;
  let extraction: (id: string) => Extraction;
  let count = 100;
  const { plugin, calls } = scriptedText((call) => {
    const content = reply(readChat(call));
    const message = { role: 'assistant', content: typeof content === 'string' ? content : JSON.stringify(content) };
    const completion = {
      id: 'chat_1',
      object: 'chat.completion',
      model: 'm-5.5',
      choices: [{ index: 0, message, finish_reason: 'stop' }],
      usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
    };
    return { contentType: 'application/json', pieces: [Buffer.from(JSON.stringify(completion))] };
  });

  before(async () => {
    app = await startApp({
      prices: createPrices({
        currency: 'USD',
        models: { 'm-5.5': { input: 1, output: 10 } },
        links: [{ platform: 'invented', price: 0.001 }],
      }),
      gateway: {
        plugins: [{ use: invented({ extract: async ({ link }) => extraction(link.id) }) }, { use: plugin }],
      },
    });
    key = await app.makeKey({ grants: ['extract', 'text'] });
  });
  after(() => app?.close());
  beforeEach(() => {
    reply = () => GOOD;
    extraction = (id) => inventedExtraction(id);
  });

  const ask = (body: object, byKey = key) =>
    app.request('/v1/extract/answers', {
      method: 'POST',
      headers: { authorization: `Bearer ${byKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  /** A link whose item was not read before. */
  const newLink = () => {
    count += 1;
    return `https://invented.example/item/${count}`;
  };

  function readChat({ body }: TextCall): Chat {
    return JSON.parse(Buffer.from(body as Uint8Array).toString());
  }

  it('are answered with the source of each statement', async () => {
    const { status, json, headers } = await ask(QUESTION);
    expect(status, JSON.stringify(json)).to.equal(200);
    expect(json).to.deep.equal({
      ok: true,
      platform: 'invented',
      input_url: LINK,
      question: QUESTION.question,
      model: 'm-5.5',
      content_from_outside: true,
      ...GOOD,
      transcript_source: null,
      limitations: json.limitations,
    });
    // The link, and 100 and 10 tokens.
    expect(headers.get('x-mediagate-cost')).to.equal('0.001200 USD');
  });

  it('leave out claims without a source, and say so', async () => {
    const claims = [...GOOD.claims, { text: 'It flies.', field: 'common.wings' }, { text: 'Now.', seconds: 3 }, 7];
    reply = () => ({ ...GOOD, claims });
    const { json } = await ask({ ...QUESTION, url: newLink() });
    expect(json.claims).to.deep.equal(GOOD.claims);
    expect(json.limitations).to.include('claims_unsupported: 3');
  });

  it('name the line that begins at the time of a claim, or the nearest one', () => {
    const segments = [
      { start: 2, end: 6, text: 'We cast off.' },
      { start: 7, end: 9, text: 'The lines hold.' },
      { start: 9, end: 12, text: 'Ahoy.' },
    ];
    const source = { fields: new Set<string>(), segments } as unknown as SourceText;
    const times = [2, 6.4, 6.6, 7, 8, 9, 12.9, 14].map((seconds) => {
      const text = JSON.stringify({ answer: 'Lines.', claims: [{ text: 'They hold.', seconds }] });
      const [claim] = readAnswer(text, { question: 'What holds?' } as Question, source)?.claims ?? [];
      return claim && 'seconds' in claim ? claim.seconds : undefined;
    });
    expect(times).to.deep.equal([2, 2, 7, 7, 7, 9, 9, undefined]);
  });

  it('are answered once for equal questions about an unchanged item', async () => {
    const url = newLink();
    const before = calls.length;
    const answers = await Promise.all([ask({ ...QUESTION, url }), ask({ ...QUESTION, url })]);
    answers.push(await ask({ ...QUESTION, url }));
    expect(calls.length - before).to.equal(1);
    for (const { json } of answers) expect(json).to.deep.equal(answers[0]?.json);
    expect(answers.at(-1)?.headers.get('idempotent-replayed')).to.equal('true');
    await ask({ ...QUESTION, url, question: 'Another one?' });
    await ask({ ...QUESTION, url }, await app.makeKey({ grants: ['extract', 'text'] }, { accountId: 'acc_other' }));
    expect(calls.length - before).to.equal(3);
  });

  it('are answered in the form of a schema, which is checked', async () => {
    const schema = {
      type: 'object',
      properties: { boats: { type: 'integer', minimum: 0 } },
      required: ['boats'],
      additionalProperties: false,
    };
    reply = () => ({ data: { boats: 1 }, claims: [] });
    const { json } = await ask({ ...QUESTION, url: newLink(), schema });
    expect(json).to.deep.include({ answer: null, data: { boats: 1 } });
    const before = calls.length;
    for (const bad of [{ data: { boats: 'one' } }, { data: { boats: 1, url: 'x' } }, 'no JSON', { answer: 'one' }]) {
      reply = () => bad;
      const refused = await ask({ ...QUESTION, url: newLink(), schema });
      expect(refused.status, JSON.stringify(bad)).to.equal(502);
      expect(refused.json.error.code).to.equal('answer_unusable');
    }
    // Each is asked for twice.
    expect(calls.length - before).to.equal(8);
  });

  it('refuse schemas that cannot be checked in bounded time', async () => {
    const base = { type: 'object', properties: {} };
    let deep: object = { type: 'string' };
    for (let depth = 0; depth < 30; depth += 1) deep = { type: 'object', properties: { inner: deep } };
    const bad = [
      { type: 'string' },
      { ...base, properties: { word: { type: 'string', pattern: '^(a+)+$' } } },
      { ...base, patternProperties: { '^(a+)+$': {} } },
      { ...base, $ref: '#' },
      { ...base, properties: { word: { default: 1 } } },
      { ...base, description: 'x'.repeat(9_000) },
      deep,
    ];
    for (const schema of bad) {
      const { status, json } = await ask({ ...QUESTION, schema });
      expect(status, JSON.stringify(schema).slice(0, 100)).to.equal(400);
      expect(json.error).to.deep.include({ code: 'invalid_value', param: 'schema' });
    }
    // A property may have any name.
    reply = () => ({ data: { pattern: 'x' }, claims: [] });
    const named = { ...base, properties: { pattern: { type: 'string' } } };
    expect((await ask({ ...QUESTION, url: newLink(), schema: named })).status).to.equal(200);
  });

  it('need both grants, and have the errors of both routes', async () => {
    const alone = await ask(QUESTION, await app.makeKey({ grants: ['extract'] }));
    expect(alone.status).to.equal(403);
    expect(alone.json.error.code).to.equal('route_not_allowed');
    const unknown = await ask({ ...QUESTION, url: 'https://unknown.example/1' });
    expect(unknown.json.error.code).to.equal('unsupported_platform');
    const { json } = await ask({ ...QUESTION, model: 'no-such-model' });
    expect(json).to.deep.include({ ok: false, input_url: LINK });
    expect(json.error.code).to.equal('model_not_found');
    extraction = () => {
      throw new GatewayError('removed', 'The item was removed.');
    };
    expect((await ask({ ...QUESTION, url: newLink() })).json.error.code).to.equal('removed');
    const missing = await ask({ url: LINK });
    expect(missing.json.error).to.deep.include({ code: 'missing_required_parameter', param: 'question' });
  });

  it('hold the highest price before the model is asked', async () => {
    const budget = parseBudget('0.0011 USD/month');
    if (!budget) throw new Error('no budget');
    const made = await app.state.budgets.createGroup('small', { budgets: [budget], actor: 'operator:ann' });
    const furtherBudgets = made.map(({ id }) => id);
    const poor = await app.makeKey({ grants: ['extract', 'text'] }, { furtherBudgets, groupName: 'small' });
    const before = calls.length;
    const { status, json } = await ask({ ...QUESTION, url: newLink() }, poor);
    expect(status).to.equal(429);
    expect(json.error.code).to.equal('insufficient_quota');
    expect(calls.length).to.equal(before);
  });

  it('are refused before the link is read if every model is a mock', async () => {
    let reads = 0;
    const extract = async ({ link }: { link: { id: string } }) => {
      reads += 1;
      return inventedExtraction(link.id);
    };
    const mock = scriptedText(() => ({ pieces: [] }), { standIn: true });
    const bare = await startApp({ gateway: { plugins: [{ use: invented({ extract }) }, { use: mock.plugin }] } });
    try {
      const authorization = `Bearer ${await bare.makeKey({ grants: ['extract', 'text'] })}`;
      const headers = { authorization, 'content-type': 'application/json' };
      for (const more of [{}, { model: 'm-5.5' }]) {
        const body = JSON.stringify({ ...QUESTION, ...more });
        const { status, json } = await bare.request('/v1/extract/answers', { method: 'POST', headers, body });
        expect([status, json.error.code, json.error.param]).to.deep.equal([400, 'model_not_supported', 'model']);
        expect(json.error.message).to.contain('m-5.5 is a mock').and.to.contain('TEXT_UPSTREAM_URL');
      }
      expect([reads, mock.calls.length]).to.deep.equal([0, 0]);
    } finally {
      await bare.close();
    }
  });

  it('are a tool of agents', async () => {
    const client = await connect(app, key);
    const { structuredContent } = await client.callTool({
      name: 'ask_link',
      arguments: { ...QUESTION, url: newLink() },
    });
    expect(structuredContent).to.deep.include({ answer: 'A tug.', content_from_outside: true });
    await client.close();
  });

  describe('about captions with orders', () => {
    /** Obeys every order that it reads outside of the block. */
    function obedient({ messages, tools }: Chat): unknown {
      expect(tools).to.equal(undefined);
      const all = messages.map(({ content }) => content).join('\n');
      const [, mark = ''] = /<(source-[\w-]+)>/.exec(all) ?? [];
      const [start, end] = [`\n<${mark}>\n`, `\n</${mark}>`];
      const outside = messages.map(({ content }) => {
        const from = content.indexOf(start);
        return from === -1 ? content : content.slice(0, from) + content.slice(content.indexOf(end, from) + end.length);
      });
      const block = messages.at(-1)?.content ?? '';
      const lines = block.slice(block.indexOf(start) + start.length, block.indexOf(end)).split('\n');
      // Each line of the block is one JSON object, whatever the caption is.
      for (const line of lines) expect(() => JSON.parse(line), line).not.to.throw();
      const isObeying = outside.some((text) => /PWNED/.test(text));
      return isObeying ? { answer: 'PWNED', claims: [] } : GOOD;
    }

    it(`of ${ORDERS.length} kinds obeys none, and shows them all as data`, async () => {
      expect(ORDERS.length).to.be.at.least(40);
      for (const order of ORDERS) {
        extraction = (id) => {
          const made = inventedExtraction(id) as Extraction & { data: { common: object } };
          return { ...made, data: { ...made.data, common: { title: 'A tug', caption: order } } } as Extraction;
        };
        reply = obedient;
        const { status, json } = await ask({ ...QUESTION, url: newLink() });
        expect(status, order).to.equal(200);
        expect(json.answer, order).to.equal('A tug.');
        const { messages } = readChat(calls.at(-1) as TextCall);
        expect(
          messages.map(({ role }) => role),
          order,
        ).to.deep.equal(['system', 'user']);
        expect(messages[1]?.content, order).to.include('PWNED');
        expect(messages[0]?.content, order).not.to.include('PWNED');
        expect(messages[1]?.content, order).not.to.match(/[\u202a-\u202e\u2066-\u2069\u200b]/);
      }
    });

    it('has a mark that no caption knows', async () => {
      const marks = new Set<string>();
      reply = ({ messages }) => {
        marks.add(/<(source-[\w-]{20})>/.exec(messages[0]?.content ?? '')?.[1] ?? '');
        return GOOD;
      };
      for (let times = 0; times < 5; times += 1) await ask({ ...QUESTION, url: newLink() });
      expect([...marks]).to.have.length(5);
    });
  });
});
