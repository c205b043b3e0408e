/** Background batches of links over HTTP: progress, results in every form, pace, charges, cancels and erasure. */

import { expect } from 'chai';
import { parse } from 'csv-parse/sync';
import { GatewayError } from 'mediagate';
import { parseBudget } from '../../../server/budgets/index.js';
import { createPrices } from '../../../server/prices/index.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { startWebhookReceiver, type WebhookReceiver } from '../../support/http/webhook-receiver.js';
import { richPost } from '../../support/links/invented-documents.js';
import { inventedProduct, productLink } from '../../support/links/invented-shop.js';
import { readZip } from '../../support/links/read-zip.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import { untilAborted } from '../../support/until-aborted.js';
import { type Answer, type ListeningApp, startApp } from '../http/listening-app.js';

const ROUTE = '/v1/extract/batches';
const item = (id: number | string) => `https://invented.example/item/${id}`;
/** Items that do not answer before the test is over, and one that is gone. */
const HANGING = '900';
const REMOVED = '901';
/** An item whose title a spreadsheet would take for a formula. */
const FORMULA = '902';
const HOSTILE_TITLE = '=HYPERLINK("https://evil.example")';

describeOnStacks('background batches of links', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  let receiver: WebhookReceiver;
  const fetched: string[] = [];

  before(async () => {
    receiver = await startWebhookReceiver();
    app = await startApp({
      stack,
      webhooks: { origin: receiver.origin },
      maxBatches: 3,
      prices: createPrices({ currency: 'USD', links: [{ price: 0.01 }] }),
      extractor: {
        async extract({ link, signal }) {
          fetched.push(link.id);
          if (link.id === HANGING) return untilAborted(signal);
          if (link.id === REMOVED) throw new GatewayError('removed', 'The item was removed.');
          const post = richPost(link.id);
          if (link.id === FORMULA && 'common' in post.data) post.data.common.title = HOSTILE_TITLE;
          return post;
        },
      },
      shop: { extract: async ({ link }) => inventedProduct(link.id) },
    });
  });
  after(async () => {
    await app?.close();
    await receiver?.close();
  });

  const send = (key: string, method: string, target: string, body?: object, headers = {}): Promise<Answer> =>
    app.request(target, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
  const get = (key: string, target: string) => send(key, 'GET', target);
  const fetchBytes = async (key: string, target: string) => {
    const answer = await fetch(`${app.url}${target}`, { headers: { authorization: `Bearer ${key}` } });
    return { headers: answer.headers, body: Buffer.from(await answer.arrayBuffer()) };
  };
  const submit = (key: string, body: object, headers = {}) => send(key, 'POST', ROUTE, body, headers);
  const ended = (key: string, id: string) =>
    until(async () => {
      const answer = await get(key, `${ROUTE}/${id}`);
      return answer.headers.get('retry-after') === null && answer.json;
    }, 100);
  const lines = ({ text }: Answer) =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line));

  it('answer at once, count the links that ended, send a webhook, and give the results in pages', async () => {
    const key = await app.makeKey();
    const urls = [item(1), productLink(2), item(REMOVED), 'nonsense', item(1)];
    const sent = await submit(key, { urls, clip_review_limit: 3, webhook_url: receiver.url('batch') });
    expect(sent.status, sent.text).to.equal(202);
    const { id } = sent.json;
    expect(sent.json).to.deep.include({
      status: 'queued',
      progress: { total: 5, started: 0, completed: 0, failed: 0, percent: 0 },
      status_url: `${ROUTE}/${id}`,
      results_url: `${ROUTE}/${id}/results`,
    });
    expect([sent.headers.get('location'), sent.headers.get('retry-after')]).to.deep.equal([`${ROUTE}/${id}`, '5']);
    const done = await ended(key, id);
    expect(done).to.deep.include({
      status: 'completed',
      progress: { total: 5, started: 5, completed: 3, failed: 2, percent: 100 },
      error: null,
    });
    const [event] = await receiver.heard('batch');
    expect(JSON.parse(event?.body ?? '')).to.deep.equal({
      type: 'extraction.batch.completed',
      timestamp: done.finished_at,
      data: done,
    });

    const first = await get(key, `${done.results_url}?limit=3`);
    expect(first.headers.get('content-type')).to.equal('application/x-ndjson');
    expect(lines(first).map(({ index, url, ok, status }) => [index, url, ok, status])).to.deep.equal([
      [0, urls[0], true, 'completed'],
      [1, urls[1], true, 'completed'],
      [2, urls[2], false, 'failed'],
    ]);
    const direct = await app.extract(key, { url: urls[0], clip_review_limit: 3 });
    const [document] = lines(first);
    expect(document.result.data.common).to.deep.equal(direct.json.data.common);
    expect(document.result.limitations).to.deep.equal(direct.json.limitations);
    expect(document.result.data.media.audio_download_links).to.have.keys(direct.json.data.media.audio_download_links);
    expect(lines(first)[2]).to.deep.nested.include({ platform: 'invented', 'error.code': 'removed' });
    const next = /<([^>]+)>; rel="next"/.exec(first.headers.get('link') ?? '')?.[1] ?? '';
    expect(next.startsWith(`${app.url}${done.results_url}?`)).to.equal(true);
    const second = await get(key, next.slice(app.url.length));
    expect(second.headers.get('link')).to.equal(null);
    expect(lines(second).map(({ index, ok, error }) => [index, ok, error?.code])).to.deep.equal([
      [3, false, 'invalid_url'],
      [4, true, undefined],
    ]);

    const feed = JSON.parse((await get(key, `${done.results_url}?format=jsonfeed`)).text);
    expect(feed).to.include({ version: 'https://jsonfeed.org/version/1.1' }).and.not.to.have.property('next_url');
    expect(feed.items.map(({ id: url }: { id: string }) => url)).to.deep.equal([urls[0], urls[1], urls[0]]);
    const { common, media } = direct.json.data;
    expect(feed.items[0]).to.deep.include({ title: common.title, date_published: common.published_at });
    expect(feed.items[0].attachments[0]).to.include({ url: media.video_urls[0], mime_type: 'video/mp4' });
    const playlist = await get(key, `${done.results_url}?format=m3u`);
    const entry = `#EXTINF:212,${common.title}\n${media.video_urls[0]}\n`;
    expect(playlist.text).to.equal(`#EXTM3U\n${entry}${entry}`);
    const info = JSON.parse((await get(key, `${done.results_url}?format=yt-dlp`)).text);
    expect(info).to.deep.include({ _type: 'playlist', id });
    expect(info.entries.map(({ webpage_url: url }: { webpage_url: string }) => url)).to.deep.equal([urls[0], urls[0]]);

    const list = (await get(key, `${ROUTE}?status=completed`)).json;
    expect(list.data).to.deep.equal([done]);
    const stranger = await app.makeKey({}, { accountId: 'somebody-else' });
    for (const target of [`${ROUTE}/${id}`, done.results_url]) {
      expect((await get(stranger, target)).json.error.code, target).to.equal('job_not_found');
    }
    for (const query of ['format=xml', 'from=-1', 'limit=0', 'limit=10001', 'include_media_links=1']) {
      const refused = await get(key, `${done.results_url}?${query}`);
      expect([refused.status, query.startsWith(refused.json.error.param)], query).to.deep.equal([400, true]);
    }
  });

  once('give a table and an archive, which have the links that failed', async () => {
    const key = await app.makeKey();
    const urls = [item(FORMULA), productLink(2), item(REMOVED), 'nonsense'];
    const { json } = await submit(key, { urls });
    const { results_url: results } = await ended(key, json.id);
    const table = await get(key, `${results}?format=csv`);
    expect(table.headers.get('content-type')).to.equal('text/csv; charset=utf-8');
    expect(table.headers.get('content-disposition')).to.equal(`attachment; filename="${json.id}.csv"`);
    const { body: bytes } = await fetchBytes(key, `${results}?format=csv`);
    expect(bytes.subarray(0, 3).toString('hex')).to.equal('efbbbf');
    const rows: string[][] = parse(bytes, { bom: true });
    const [head = [], ...cells] = rows;
    const records = cells.map((row) => Object.fromEntries(head.map((column, index) => [column, row[index]])));
    expect(records.map(({ index, url, status, platform }) => [index, url, status, platform])).to.deep.equal([
      ['0', urls[0], 'completed', 'invented'],
      ['1', urls[1], 'completed', 'bazaar'],
      ['2', urls[2], 'failed', 'invented'],
      ['3', 'nonsense', 'failed', ''],
    ]);
    const { data } = (await app.extract(key, { url: productLink(2) })).json;
    expect(records[0]?.title).to.equal(`'=HYPERLINK("https://evil.example")`);
    expect(records[1]).to.include({ title: data.product.name });
    expect(records[2]).to.include({ error_code: 'removed', error_message: 'The item was removed.' });

    const archive = await fetchBytes(key, `${results}?format=zip`);
    expect(archive.headers.get('content-type')).to.equal('application/zip');
    const files = readZip(archive.body);
    const names = ['links.csv', '00001.json', '00002.json', '00003.json', '00004.json'];
    expect(files.map(({ name }) => name)).to.deep.equal(names);
    expect(files[0]?.content.equals(bytes)).to.equal(true);
    // The lines have the times of their links, which are those of the read.
    const inLines = lines(await get(key, results));
    for (const [index, { content }] of files.slice(1).entries()) {
      const { ok, url, result, error } = JSON.parse(content.toString());
      expect([ok, url]).to.deep.equal([inLines[index].ok, urls[index]]);
      expect([result?.data.product ?? result?.data.common, error]).to.deep.equal([
        inLines[index].result?.data.product ?? inLines[index].result?.data.common,
        inLines[index].error,
      ]);
    }
    const part = readZip((await fetchBytes(key, `${results}?format=zip&from=2&limit=1`)).body);
    expect(part.map(({ name }) => name)).to.deep.equal(['links.csv', '00003.json']);
  });

  once('take a request of the rate limit for each link when it starts, and wait for the next', async () => {
    const key = await app.makeKey({ rpm: 3 });
    const { json } = await submit(key, { urls: [10, 11, 12, 13].map(item) });
    const running = await until(async () => {
      const now = (await get(key, `${ROUTE}/${json.id}`)).json;
      return now.progress.completed === 3 && now;
    }, 100);
    expect(running).to.deep.include({
      status: 'processing',
      progress: { total: 4, started: 3, completed: 3, failed: 0, percent: 75 },
    });
    expect((await app.extract(key, { url: item(14) })).status).to.equal(429);
    const page = await get(key, `${json.results_url}?from=2`);
    expect([lines(page).length, page.headers.get('retry-after')]).to.deep.equal([1, '5']);
    expect(page.headers.get('link')).to.contain('from=3');
    const cancelled = await send(key, 'DELETE', `${ROUTE}/${json.id}`);
    expect(cancelled.json).to.deep.include({ status: 'cancelled' });
    expect((await get(key, `${json.results_url}?from=3`)).text).to.equal('');
    expect(fetched).not.to.include('13');
    expect((await send(key, 'DELETE', `${ROUTE}/${json.id}`)).status).to.equal(200);
  });

  it('charge each document once, end with the budget, and give back what a cancelled link held', async () => {
    const budgetOf = async (key: string) => (await get(key, '/v1/usage')).json.budgets[0];
    const makeKey = async (budget: string) => {
      const key = await app.makeKey();
      const amount = parseBudget(budget);
      if (!amount) throw new Error(`${budget} is no budget`);
      const owner = { scope: 'key', subject: key.slice(6, 14) } as const;
      await app.state.budgets.change({ ...owner, budgets: [amount], actor: 'operator:ann' });
      await app.keys.refresh();
      return key;
    };
    const key = await makeKey('0.03 USD/month');
    const { json: first } = await submit(key, { urls: [item(30), item(REMOVED), item(31)] });
    await ended(key, first.id);
    expect(await budgetOf(key)).to.include({ used: 0.02, reserved: 0 });
    const { json: second } = await submit(key, { urls: [32, 33, 34].map(item) });
    const failed = await ended(key, second.id);
    expect(failed).to.deep.nested.include({ status: 'failed', 'error.code': 'insufficient_quota' });
    expect(failed.progress).to.deep.include({ started: 1, completed: 1 });
    expect(await budgetOf(key)).to.include({ used: 0.03, reserved: 0 });

    const other = await makeKey('1 USD/month');
    const { json: hanging } = await submit(other, { urls: [item(HANGING)] });
    await until(async () => (await budgetOf(other)).reserved === 0.01, 100);
    await send(other, 'DELETE', `${ROUTE}/${hanging.id}`);
    expect(await budgetOf(other)).to.include({ used: 0, reserved: 0 });
  });

  once(
    'are refused beyond their own limit, leave other jobs alone, and are repeated with an idempotency key',
    async () => {
      const key = await app.makeKey();
      const hanging = { urls: [item(HANGING), item(20)] };
      const first = await submit(key, hanging, { 'idempotency-key': 'once' });
      const again = await submit(key, hanging, { 'idempotency-key': 'once' });
      expect([again.status, again.json.id]).to.deep.equal([202, first.json.id]);
      expect(again.headers.get('idempotency-replayed')).to.equal('true');
      const other = await submit(key, { urls: [item(21)] }, { 'idempotency-key': 'once' });
      expect(other.json.error.code).to.equal('idempotency_key_reused');
      const more = [await submit(key, hanging), await submit(key, hanging)];
      const full = await submit(key, hanging);
      expect([full.status, full.json.error.code]).to.deep.equal([503, 'queue_full']);
      const job = await app.extract(key, { url: item(22), background: true });
      expect(job.json.data.queue.active).to.equal(1);

      // The link behind the one that hangs has ended, but is not given before it.
      await until(async () => (await get(key, `${ROUTE}/${first.json.id}`)).json.progress.completed === 1, 100);
      expect((await get(key, first.json.results_url)).text).to.equal('');
      for (const { json } of [first, ...more]) await send(key, 'DELETE', `${ROUTE}/${json.id}`);
      const after = lines(await get(key, first.json.results_url));
      expect(after.map(({ ok, error }) => [ok, error?.code])).to.deep.equal([
        [false, 'cancelled'],
        [true, undefined],
      ]);
      for (const [body, param] of [
        [{ urls: [] }, 'urls'],
        [{ urls: [1] }, 'urls'],
        [{ urls: ['x'.repeat(2049)] }, 'urls'],
        [{ urls: Array.from({ length: 10_001 }, () => 'x') }, 'urls'],
        [{ urls: ['x'], clip_review_limit: 0 }, 'clip_review_limit'],
        [{ urls: ['x'], webhook_url: 'ftp://x' }, 'webhook_url'],
      ] as const) {
        const refused = await submit(key, body);
        expect([refused.status, refused.json.error.param], JSON.stringify(body).slice(0, 80)).to.deep.equal([
          400,
          param,
        ]);
      }
    },
  );
});
