/** The routes of a key's usage in detail: sums by one dimension, and single requests in pages. */

import { expect } from 'chai';
import type { Settlement } from '../../../server/usage/index.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { settlement } from '../../support/models/model-requests.js';
import { onceIt } from '../../support/runner/variants.js';
import { untilDayHasRoom } from '../../support/same-day.js';
import { type Answer, type ListeningApp, startApp } from '../http/listening-app.js';

const DAY_MS = 24 * 3_600_000;
const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);

describeOnStacks('usage of a key in detail', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  let key: string;
  let now: number;

  beforeEach(untilDayHasRoom);
  before(async () => {
    app = await startApp({ stack, extractor: {} });
  });
  after(() => app.close());
  beforeEach(async () => {
    key = await app.makeKey({ grants: ['text'], rpm: null });
    now = Date.now();
    for (let index = 0; index < 5; index += 1) settle({ at: now - index, requestId: `req_${index}` });
    settle({ at: now - DAY_MS, requestId: 'req_old', status: 502, errorCode: 'upstream_error', usage: undefined });
    settle({ at: now - 10, requestId: 'req_link/invented-1', route: '/v1/extract', model: 'invented' });
    app.state.admissions.settle(settlement({ keyId: 'another1', at: now, requestId: 'req_foreign' }));
    await app.state.admissions.flush();
  });

  function settle(change: Partial<Settlement>): void {
    app.state.admissions.settle(settlement({ keyId: key.slice(6, 14), ...change }));
  }

  const get = (path: string): Promise<Answer> =>
    app.request(`/v1/usage/${path}`, { headers: { authorization: `Bearer ${key}` } });

  it('is added up by day, model, platform and route, as JSON and CSV', async () => {
    const sums = async (query: string) => {
      const { json } = await get(`daily?${query}`);
      return json.data.map(({ name, requests, failed }: Record<string, unknown>) => [name, requests, failed]);
    };
    expect(await sums('')).to.deep.equal([
      [dayOf(now), 6, 0],
      [dayOf(now - DAY_MS), 1, 1],
    ]);
    expect(await sums('by=model')).to.deep.equal([['m-5.5', 6, 1]]);
    expect(await sums('by=platform')).to.deep.equal([['invented', 1, 0]]);
    expect(await sums('by=key')).to.deep.equal([[key.slice(6, 14), 7, 1]]);
    expect(await sums(`by=route&from=${dayOf(now)}`)).to.deep.equal([
      ['/v1/chat/completions', 5, 0],
      ['/v1/extract', 1, 0],
    ]);
    expect(await sums('by=model&model=none')).to.deep.equal([]);
    const { json } = await get('daily?by=route');
    expect(json).to.include({ object: 'usage.groups', by: 'route', to: dayOf(now) });
    expect(json.total).to.include({ requests: 7, failed: 1, refused: 0, input_tokens: 60 });
    const csv = await get('daily?format=csv');
    expect(csv.headers.get('content-type')).to.equal('text/csv; charset=utf-8');
    const [head, first] = csv.text.split('\r\n');
    expect(head).to.match(/^day,requests,failed,/);
    expect(first).to.match(new RegExp(`^${dayOf(now)},6,0,`));
  });

  once('lists single requests in pages, of this key alone, with filters', async () => {
    const ids: string[] = [];
    let query = 'limit=3';
    for (let isMore = true; isMore; ) {
      const { json } = await get(`requests?${query}`);
      expect(json.data.length).to.be.at.most(3);
      ids.push(...json.data.map((row: { request_id: string }) => row.request_id));
      isMore = json.has_more;
      expect(json.next === null).to.equal(!isMore);
      query = `limit=3&after=${json.next}`;
    }
    expect(ids).to.deep.equal(['req_0', 'req_1', 'req_2', 'req_3', 'req_4', 'req_link', 'req_old']);
    const [failed, ...others] = (await get('requests?outcome=failed')).json.data;
    expect(others).to.deep.equal([]);
    expect(failed).to.deep.equal({
      request_id: 'req_old',
      at: new Date(now - DAY_MS).toISOString(),
      route: '/v1/chat/completions',
      model: 'm-5.5',
      outcome: 'failed',
      status: 502,
      error_code: 'upstream_error',
      duration_ms: 120,
      input_tokens: null,
      output_tokens: null,
    });
    expect((await get('requests?request_id=req_link')).json.data).to.have.length(1);
    const csv = (await get('requests?format=csv')).text.trim().split('\r\n');
    expect(csv).to.have.length(8);
    expect(csv[0]).to.equal(
      'request_id,at,key,route,model,outcome,status,error_code,error,duration_ms,input_tokens,output_tokens',
    );
  });

  once('refuses values that it does not know, by their field', async () => {
    for (const [path, param] of [
      ['daily?by=hour', 'by'],
      ['daily?format=xml', 'format'],
      ['daily?from=2026-13-01', 'from'],
      ['requests?limit=0', 'limit'],
      ['requests?limit=201', 'limit'],
      ['requests?after=bm9wZQ', 'after'],
      ['requests?outcome=bad', 'outcome'],
      ['requests?code=a&code=b', 'code'],
    ] as const) {
      const { status, json } = await get(path);
      expect([status, json.error.code, json.error.param], path).to.deep.equal([400, 'invalid_value', param]);
    }
    expect((await app.request('/v1/usage/requests')).status).to.equal(401);
  });
});
