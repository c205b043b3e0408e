/** Costs in answers, usage, commands and on the dashboard. */

import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'chai';
import type { TextCall, TextModel, Transcript, Usage } from 'mediagate';
import { createPrices, decimalOf } from '../../../server/prices/index.js';
import { readSettings } from '../../../server/settings/index.js';
import { LOCALES } from '../../../server/site/language/index.js';
import { renderUsage } from '../../../server/site/pages/dashboard.js';
import type { State } from '../../../server/state.js';
import { HEARD, inventedAudio } from '../../support/audio/invented-audio.js';
import { makeSound } from '../../support/audio/sounds.js';
import { engines, type Place } from '../../support/databases/engines.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { inventedImage, inventedModel } from '../../support/images/invented-image.js';
import { invented, inventedExtraction } from '../../support/links/invented-plugin.js';
import { inventedProduct, inventedShop, productLink } from '../../support/links/invented-shop.js';
import { settlement } from '../../support/models/model-requests.js';
import { scriptedText } from '../../support/models/scripted-text.js';
import { runCommand } from '../../support/processes/command-line.js';
import { onceIt } from '../../support/runner/variants.js';
import { untilDayHasRoom } from '../../support/same-day.js';
import { until } from '../../support/until.js';
import { fileOf, toForm } from '../audio/client.js';
import { type Answer, LINK, type ListeningApp, startApp } from '../http/listening-app.js';

/** What is used, and the cost that a spreadsheet has for it: `=ROUND(…; 6)` of decimal numbers. Empty is not known. */
const TABLE = `
kind,model,input,cached,written,output,seconds,characters,size,quality,cost
chat,m-5.5,1000,600,100,50,,,,,0.001100
messages,m-5.5,1003,0,1000,1,,,,,0.001514
chat,m-5.5,8488,0,0,2671,,,,,0.037320
chat,m-5.5,7555,0,0,923,,,,,0.018674
chat,m-small,6140,0,0,2177,,,,,0.002227
chat,m-small,7010,6100,0,123,,,,,0.000668
stream,m-5.5,14143,0,0,1130,,,,,0.028979
stream,m-5.5,4808,695,0,1848,,,,,0.023708
stream,m-small,14312,2285,0,1458,,,,,0.002850
stream,m-small,7669,3987,0,2748,,,,,0.002500
responses,m-5.5,11935,7042,0,2684,,,,,0.033837
responses,m-5.5,3846,1417,0,2831,,,,,0.031523
responses,m-small,14693,0,0,1804,,,,,0.003286
responses,m-small,14530,0,0,1202,,,,,0.002901
messages,m-5.5,6640,1469,0,1038,,,,,0.017027
messages,m-5.5,12161,7527,0,2481,,,,,0.031543
messages,m-small,9180,0,0,2365,,,,,0.002796
messages,m-small,16085,0,0,2316,,,,,0.003802
chat,m-5.5,1,0,0,0,,,,,0.000001
chat,m-small,3,1,0,0,,,,,0.000000
chat,m-open,500,0,0,100,,,,,
stream,m-open,50,0,0,10,,,,,
embeddings,embed-small,24,0,0,0,,,,,0.000000
embeddings,embed-small,25,0,0,0,,,,,0.000001
embeddings,embed-small,812345,0,0,0,,,,,0.016247
moderations,rate-1,,,,,,,,,0.000000
failed,m-5.5,,,,,,,,,0.000000
failed,m-open,,,,,,,,,
transcriptions,stt-large-v3,,,,,61.005,,,,0.006101
transcriptions,stt-large-v3,,,,,0.2,,,,0.000020
transcriptions,stt-large-v3,,,,,3599.999,,,,0.360000
transcriptions,stt-large-v3-turbo,,,,,12,,,,
speech,tts_v3,,,,,,17,,,0.000255
speech,tts_v3,,,,,,40,,,0.000600
image,gen-img-2,,,,,,,1024x1024,high,0.167000
image,gen-img-2,,,,,,,1024x1024,,0.042000
image,gen-img-2,,,,,,,1536x1024,high,0.250000
image,gen-img-2,,,,,,,1536x1024,low,
image,gen-image-2,21,0,0,1056,,,1024x1024,high,0.042345
link,invented,,,,,,,,,0.000500
link,bazaar,,,,,,,,,0.002000
brokenlink,invented,,,,,,,,,0.000000
batch,invented,,,,,,,,,0.002500
`;

interface Row {
  kind: string;
  model: string;
  input: number;
  cached: number;
  written: number;
  output: number;
  seconds: number;
  characters: number;
  size: string;
  quality: string;
  cost: string;
}

function readTable(): Row[] {
  const [head = '', ...lines] = TABLE.trim().split('\n');
  const names = head.split(',');
  return lines.map((line) => {
    const cells = line.split(',');
    const row = Object.fromEntries(names.map((name, index) => [name, cells[index] ?? '']));
    const numbers = ['input', 'cached', 'written', 'output', 'seconds', 'characters'].map((name) => [
      name,
      Number(row[name]),
    ]);
    return { ...row, ...Object.fromEntries(numbers) } as Row;
  });
}

const PRICES = createPrices({
  currency: 'USD',
  models: {
    'm-5.5': { input: 1.25, cachedInput: 0.125, cacheWrite: 1.5, output: 10 },
    'm-small': { input: 0.15, cachedInput: 0.075, output: 0.6 },
    'embed-small': { input: 0.02 },
    'rate-1': { input: 0 },
    'stt-large-v3': { second: 0.0001 },
    tts_v3: { characters: 15 },
    'gen-img-2': {
      images: [
        { size: '1024x1024', quality: 'high', price: 0.167 },
        { size: '1536x1024', quality: 'high', price: 0.25 },
        { size: '1024x1024', price: 0.042 },
      ],
    },
    'gen-image-2': { input: 5, output: 40 },
  },
  links: [{ platform: 'bazaar', price: 0.002 }, { price: 0.0005 }],
});

const writing = (id: string): TextModel => ({ id, routes: ['chat_completions', 'responses'], efforts: [] });
const MODELS: readonly TextModel[] = [
  ...['m-5.5', 'm-small', 'm-open'].map(writing),
  { id: 'embed-small', routes: ['embeddings'], efforts: [] },
  { id: 'rate-1', routes: ['moderations'], efforts: [] },
];

/** The row of the request that runs: a model says that it used what the row has. */
let asked: Row;

function answerOf({ route, model, stream }: TextCall) {
  if (asked.kind === 'failed') throw new Error('it has nothing to say');
  const { input, cached, written, output } = asked;
  const details = { cached_tokens: cached, ...(written > 0 && { cache_write_tokens: written }) };
  const ofChat = {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: details,
  };
  const ofResponse = {
    input_tokens: input,
    input_tokens_details: details,
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input + output,
  };
  const json = (value: object) => ({ contentType: 'application/json', pieces: [Buffer.from(JSON.stringify(value))] });
  const message = { role: 'assistant', content: 'Ostend.' };
  if (stream) {
    const events = [
      { id: 'c', object: 'chat.completion.chunk', model, choices: [{ index: 0, delta: { content: 'Ostend.' } }] },
      { id: 'c', object: 'chat.completion.chunk', model, choices: [], usage: ofChat },
    ];
    const text = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('');
    return { pieces: [Buffer.from(`${text}data: [DONE]\n\n`)] };
  }
  switch (route) {
    case 'embeddings': {
      const usage = { prompt_tokens: input, total_tokens: input };
      return json({ object: 'list', data: [{ object: 'embedding', index: 0, embedding: [0] }], model, usage });
    }
    case 'moderations':
      return json({ id: 'modr-1', model, results: [{ flagged: false, categories: {}, category_scores: {} }] });
    case 'responses': {
      const content = [{ type: 'output_text', text: 'Ostend.', annotations: [] }];
      const outputs = [{ type: 'message', id: 'msg_1', role: 'assistant', status: 'completed', content }];
      const rest = { status: 'completed', output: outputs, usage: ofResponse };
      return json({ id: 'resp_1', object: 'response', created_at: 1, model, ...rest });
    }
    default: {
      const choices = [{ index: 0, message, finish_reason: 'stop' }];
      return json({ id: 'c', object: 'chat.completion', created: 1, model, choices, usage: ofChat });
    }
  }
}

describeOnStacks('costs of requests', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  let key: string;
  let sound: Buffer;

  beforeEach(untilDayHasRoom);
  before(async () => {
    const { plugin: hearing, audio } = inventedAudio();
    audio.transcribe = async (): Promise<Transcript> => ({ ...HEARD, durationSeconds: asked.seconds });
    const plugins = [
      { use: scriptedText(answerOf, { models: MODELS }).plugin },
      { use: inventedModel(inventedImage) },
      { use: hearing },
      {
        use: invented({
          extract: async ({ link }) => {
            if (asked.kind === 'brokenlink') throw new Error('the page has changed');
            return inventedExtraction(link.id);
          },
        }),
      },
      { use: inventedShop({ extract: async ({ link }) => inventedProduct(link.id) }) },
    ];
    app = await startApp({ stack, prices: PRICES, messages: true, gateway: { plugins } });
    key = await app.makeKey({ grants: ['text', 'images', 'audio', 'extract'], rpm: null });
    sound = await makeSound(app.dataDir, 'wav');
  });
  after(() => app.close());

  function send(path: string, body: object | FormData): Promise<Answer> {
    const headers = { authorization: `Bearer ${key}` };
    if (body instanceof FormData) return app.request(path, { method: 'POST', headers, body });
    const type = { 'content-type': 'application/json' };
    return app.request(path, { method: 'POST', headers: { ...headers, ...type }, body: JSON.stringify(body) });
  }

  function sendRow({ kind, model, characters, size, quality }: Row): Promise<Answer> {
    const messages = [{ role: 'user', content: 'Name a harbour.' }];
    switch (kind) {
      case 'stream':
        return send('/v1/chat/completions', { model, messages, stream: true });
      case 'responses':
        return send('/v1/responses', { model, input: 'Name a harbour.' });
      case 'messages':
        return send('/v1/messages', { model, messages, max_tokens: 5_000 });
      case 'embeddings':
        return send('/v1/embeddings', { model, input: 'a harbour' });
      case 'moderations':
        return send('/v1/moderations', { model, input: 'a harbour' });
      case 'transcriptions':
        return send('/v1/audio/transcriptions', toForm({ file: fileOf(sound), model }));
      case 'speech':
        return send('/v1/audio/speech', { model, input: 'x'.repeat(characters), voice: 'alloy' });
      case 'image':
        return send('/v1/images/generations', { model, prompt: 'A tug', size, ...(quality && { quality }) });
      case 'link':
        return send('/v1/extract', { url: model === 'bazaar' ? productLink(1) : LINK });
      case 'brokenlink':
        return send('/v1/extract', { url: 'https://invented.example/item/404' });
      case 'batch':
        return send('/v1/extract/batch', { urls: [LINK, productLink(1)] });
      default:
        return send('/v1/chat/completions', { model, messages });
    }
  }

  /** Answers that are sent before their cost is known, and errors. */
  const WITHOUT_HEADER: ReadonlySet<string> = new Set(['stream', 'speech', 'failed', 'brokenlink']);
  /** In the usage log by day alone. */
  const OF_LINKS: ReadonlySet<string> = new Set(['link', 'brokenlink', 'batch']);

  once('match a spreadsheet: in the header, in each row and in the totals', async () => {
    const rows = readTable();
    expect(rows.length).to.be.at.least(40);
    const sent: { row: Row; id: string }[] = [];
    for (const row of rows) {
      asked = row;
      const { status, headers, text } = await sendRow(row);
      const name = Object.values(row).join(' ');
      if (['failed', 'brokenlink'].includes(row.kind)) expect(status, name).to.be.above(499);
      else expect(status, `${name} ${text.slice(0, 300)}`).to.equal(200);
      const header = row.cost === '' || WITHOUT_HEADER.has(row.kind) ? null : `${row.cost} USD`;
      expect(headers.get('x-mediagate-cost'), name).to.equal(header);
      sent.push({ row, id: headers.get('x-request-id') ?? '' });
    }
    await app.state.usage.flushCounts();
    const today = new Date().toISOString().slice(0, 10);
    const range = { from: today, to: today, keyId: key.slice(6, 14) };
    const ofEntries = sent.filter(({ row }) => row.kind !== 'image' && !OF_LINKS.has(row.kind));
    const entries = await until(async () => {
      await app.state.admissions.flush();
      const found = await app.state.usage.entries(range, 100);
      return found.length >= ofEntries.length && found;
    });
    const costs = new Map(entries.map(({ requestId, cost }) => [requestId, cost === null ? '' : decimalOf(cost)]));
    for (const { row, id } of ofEntries) expect(costs.get(id), Object.values(row).join(' ')).to.equal(row.cost);

    const totals = await app.state.usage.totals(range);
    const sums = Object.groupBy(
      rows.filter(({ kind }) => kind !== 'batch'),
      ({ model }) => model,
    );
    for (const [model, ofModel = []] of Object.entries(sums)) {
      const found = totals.filter((total) => total.model === model && total.route !== '/v1/extract/batch');
      const sum = (of: (total: (typeof found)[number]) => number) => found.reduce((all, total) => all + of(total), 0);
      const known = ofModel.filter(({ cost }) => cost !== '');
      const expected = known.reduce((all, { cost }) => all + BigInt(cost.replace('.', '')), 0n);
      expect(
        sum(({ cost }) => cost),
        model,
      ).to.equal(Number(expected));
      expect([sum(({ priced }) => priced), sum(({ requests }) => requests)], model).to.deep.equal([
        known.length,
        ofModel.length,
      ]);
    }
    const batch = totals.filter(({ route }) => route === '/v1/extract/batch');
    expect(batch.map(({ model, cost }) => [model, cost])).to.have.deep.members([
      ['bazaar', 2_000],
      ['invented', 500],
    ]);
    const charges = await chargesOf(sent.filter(({ row }) => row.kind === 'image').map(({ id }) => id));
    expect(charges).to.have.members(rows.filter(({ kind }) => kind === 'image').map(({ cost }) => cost));
  });

  async function chargesOf(requestIds: readonly string[]): Promise<string[]> {
    const { jobs } = app.state;
    const all = await jobs.latest('local', 100);
    const wanted = all.filter(({ summary }) => requestIds.includes((summary as { requestId: string }).requestId));
    const inspected = await Promise.all(wanted.map(({ id }) => jobs.inspect(id)));
    return inspected.map((job) => (job?.charge?.cost === null ? '' : decimalOf(job?.charge?.cost ?? Number.NaN)));
  }

  once('are in the usage of the key, with unknown costs apart from 0', async () => {
    const { json } = await app.request('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
    expect(json.currency).to.equal('USD');
    const rows = readTable().filter(({ cost }) => cost !== '');
    const sum = rows.reduce((all, { cost }) => all + BigInt(cost.replace('.', '')), 0n);
    expect(json.total.cost).to.equal(Number(decimalOf(Number(sum))));
    expect(json.total.unpriced).to.equal(readTable().length - rows.length);
    const ofModel = (model: string, route: string) =>
      json.days[0].models.find((one: Record<string, unknown>) => one.model === model && one.route === route);
    expect(ofModel('m-open', '/v1/chat/completions')).to.include({ cost: null, requests: 3, unpriced: 3 });
    expect(ofModel('rate-1', '/v1/moderations')).to.include({ cost: 0, requests: 1, unpriced: 0 });
  });

  once('are absent without prices', async () => {
    const plain = await startApp({
      stack,
      gateway: { plugins: [{ use: scriptedText(answerOf, { models: MODELS }).plugin }] },
    });
    try {
      const other = await plain.makeKey({ grants: ['text'] });
      const headers = { authorization: `Bearer ${other}`, 'content-type': 'application/json' };
      [asked] = readTable() as [Row];
      const body = JSON.stringify({ model: 'm-5.5', messages: [{ role: 'user', content: 'Name a harbour.' }] });
      const answer = await plain.request('/v1/chat/completions', { method: 'POST', headers, body });
      expect([answer.status, answer.headers.get('x-mediagate-cost')]).to.deep.equal([200, null]);
      await plain.state.admissions.flush();
      const { json } = await plain.request('/v1/usage', { headers });
      expect(json).not.to.have.property('currency');
      expect(json.total).not.to.have.any.keys('cost', 'unpriced');
    } finally {
      await plain.close();
    }
  });
});

for (const engine of engines) {
  describe(`costs in commands on ${engine.name}`, () => {
    let place: Place;
    let state: State;
    let environment: Record<string, string>;

    before(async function () {
      place = await engine.reusedPlace(this);
      state = await place.open({ prices: PRICES });
      const { dataDir, databaseUrl } = place;
      environment = {
        DATA_DIR: dataDir,
        PORT: '0',
        LOG_LEVEL: 'error',
        ...(databaseUrl && { DATABASE_URL: databaseUrl }),
      };
    });
    after(() => place?.remove());

    const report = async (...args: string[]) => {
      const days = ['--from', '2026-01-01', '--to', '2026-01-02'];
      const { code, stdout, stderr } = await runCommand(['usage', ...days, ...args], environment);
      expect([code, stderr], args.join(' ')).to.deep.equal([0, '']);
      return stdout;
    };

    function settle(model: string, usage: Usage | undefined, status = 200): void {
      const at = Date.UTC(2026, 0, 1, 12);
      state.admissions.settle(settlement({ model, usage, status, at, keyId: 'someone0' }));
    }

    it('usage has them if there are prices, and counts requests without', async () => {
      settle('m-5.5', { inputTokens: 1_000_000, outputTokens: 1 });
      await state.admissions.flush();
      expect(await report('--by', 'model')).not.to.contain('COST');

      expect(await state.usage.setCurrency('USD')).to.equal(true);
      settle('m-5.5', { inputTokens: 1, outputTokens: 0 });
      settle('m-5.5', undefined, 502);
      settle('m-open', { inputTokens: 5 });
      await state.admissions.flush();
      const table = await report('--by', 'model');
      expect(table).to.match(/ESTIMATED +COST \(USD\)\nm-5\.5 .* 1\.250011\nm-open .* -\nall .* 1\.250011\n$/);
      expect(await state.usage.setCurrency('EUR')).to.equal(false);
      expect(await state.usage.currency()).to.equal('USD');
      const csv = await report('--by', 'model', '--csv');
      expect(csv).to.match(/^model,.*,cost,unpriced,currency\nm-5\.5,3,.*,1\.250011,0,USD\nm-open,1,.*,,1,USD\n$/);
    });

    // One engine: each start takes a second, and the other test has the currency of both.
    const onOne = engine.name === 'sqlite' ? it : undefined;
    onOne?.('the start refuses wrong prices, and another currency than that of the costs', async () => {
      const file = path.join(place.dataDir, 'prices.json');
      const serve = async (prices: object) => {
        await writeFile(file, JSON.stringify(prices));
        const { code, stdout, stderr } = await runCommand(['serve'], { ...environment, PRICES_FILE: file });
        expect([code, stdout]).to.deep.equal([2, '']);
        return stderr;
      };
      expect(await serve({ currency: 'USD', models: { m: { output: 'much' } } })).to.equal(
        `mediagate: ${file}: models.m.output must be number.\n`,
      );
      const { stdout } = await runCommand(['doctor'], { ...environment, PRICES_FILE: file });
      expect(stdout).to.match(/^fail +prices +.*prices\.json: models\.m\.output must be number\.$/m);
      const other = await serve({ currency: 'EUR' });
      expect(other).to.contain('The prices are in EUR, but the usage log has costs in USD.').and.contain('PRICES_FILE');
      const wrong = () => readSettings({ PRICES_CURRENCY: 'dollars' });
      expect(wrong).to.throw('PRICES_CURRENCY must be the code of a currency (ISO 4217), such as USD or EUR.');
    });
  });
}

describe('costs on the dashboard', () => {
  const days = [{ day: '2026-06-15', requests: 3, failed: 0, tokens: 30, images: 0, bytes: 0 }];

  it('are in the sum and in the table', () => {
    const costs = { currency: 'USD', total: '$12.34', days: new Map([['2026-06-15', '0.001234']]) };
    const page = renderUsage(days, LOCALES.en, costs).markup;
    expect(page).to.contain('<div><dt>Spent</dt><dd>$12.34</dd></div>');
    expect(page).to.contain('<th scope="col" class="number">Cost (USD)</th></tr></thead>');
    expect(page).to.contain('<td class="number">0.001234</td></tr>');
    expect(renderUsage(days, LOCALES.en).markup).not.to.contain('Cost');
  });
  it('are beside what media links sent, if they sent anything', () => {
    expect(renderUsage(days, LOCALES.en).markup).not.to.contain('Downloaded');
    for (const [bytes, shown] of [
      [24_300_000, '24.3 MB'],
      [1_520_000_000, '1.5 GB'],
    ] as const) {
      const page = renderUsage(
        days.map((day) => ({ ...day, bytes })),
        LOCALES.en,
      ).markup;
      expect(page).to.contain(`<div><dt>Downloaded through the gateway</dt><dd>${shown}</dd></div>`);
    }
  });
});
