/** The usage route of a key: totals, budget, window and filters. */

import { expect } from 'chai';
import type { Budget } from '../../../server/budgets/tables.js';
import type { Settlement } from '../../../server/usage/usage-log.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { onceIt } from '../../support/runner/variants.js';
import { untilDayHasRoom } from '../../support/same-day.js';
import { type Answer, type ListeningApp, startApp } from '../http/listening-app.js';

const DAY_MS = 24 * 3_600_000;

describeOnStacks('GET /v1/usage', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  const dayOf = (at: number) => new Date(at).toISOString().slice(0, 10);

  beforeEach(untilDayHasRoom);
  before(async () => {
    app = await startApp({ stack });
  });
  after(() => app.close());

  const look = (key: string, query = ''): Promise<Answer> =>
    app.request(`/v1/usage${query}`, { headers: { authorization: `Bearer ${key}` } });

  function settle(keyId: string, change: Partial<Settlement> = {}): void {
    app.state.admissions.settle({
      requestId: `${Math.random()}`,
      keyId,
      accountId: 'local',
      route: '/v1/chat/completions',
      model: 'm-5.5',
      status: 200,
      latencyMs: 100,
      usage: { inputTokens: 10, cachedTokens: 4, cacheWriteTokens: 3, outputTokens: 5, reasoningTokens: 2 },
      at: Date.now(),
      ...change,
    });
  }

  it("returns the key's usage by day and model, and the rest of its budget and window", async () => {
    const today = dayOf(Date.now());
    const budget: Budget = {
      id: 'budget_usage',
      accountId: 'local',
      planId: 'free',
      tokenLimit: null,
      dailyTokenLimit: 1_000,
      requestLimit: 50,
      resets: 'month',
      expiresAt: Date.UTC(2100, 0, 1),
      createdAt: Date.now(),
    };
    await app.state.budgets.create(budget);
    const plan = { planId: 'free', budgetId: budget.id, models: ['m-5.5'], imageDailyLimit: null };
    const good = await app.makeKey({ name: 'good', grants: ['text', 'images'], rpm: 30, plan });
    const keyId = good.slice(6, 14);
    const base = { keyId, accountId: 'local', route: '/v1/chat/completions', model: 'm-5.5' };
    const rateLimit = { keyId, family: 'model' as const, count: 1, limit: 30 };
    const { reservation } = await app.state.admissions.admit({
      ...base,
      rateLimit,
      reserve: { budgetId: budget.id, tokens: 100 },
    });
    await app.state.admissions.admit({ ...base, rateLimit, reserve: { budgetId: budget.id, tokens: 300 } });
    settle(keyId, { reservation });
    settle(keyId, { status: 502, usage: undefined, latencyMs: 50 });
    settle(keyId, { route: '/v1/audio/speech', model: 'tts_v3', usage: { characters: 12, estimated: true } });
    settle(keyId, { at: Date.now() - DAY_MS });
    settle('anothers');
    await app.state.admissions.flush();

    const { status, json, headers } = await look(good);
    expect(status).to.equal(200);
    expect(headers.get('cache-control')).to.equal('no-store');
    expect(json).to.have.all.keys('object', 'key', 'window', 'budget', 'from', 'to', 'total', 'days');
    expect(json).to.deep.nested.include({
      object: 'usage',
      to: today,
      key: { id: keyId, name: 'good', plan: 'free', grants: ['text', 'images'], models: ['m-5.5'], expires_at: null },
      'window.limit': 30,
      'window.seconds': 60,
    });
    expect(json.window.families).to.have.all.keys('model', 'image');
    expect(json.window.families.model.remaining).to.equal(28);
    expect(json.window.families.model.reset_seconds).to.be.within(50, 60);
    expect(json.window.families.image).to.deep.equal({ remaining: 30, reset_seconds: 0 });
    expect(json.budget).to.deep.equal({
      resets: 'month',
      expires_at: '2100-01-01T00:00:00.000Z',
      requests: { limit: 50, used: 2, left: 48 },
      tokens: { limit: null, used: 15, reserved: 300, left: null },
      tokens_today: { limit: 1_000, used: 15, left: 685 },
    });
    expect(json.total).to.include({ requests: 4, failed: 1, estimated: 1, input_tokens: 20, output_tokens: 10 });
    expect(json.days.map(({ day }: { day: string }) => day)).to.deep.equal([today, dayOf(Date.now() - DAY_MS)]);
    const [{ models, ...ofToday }] = json.days;
    expect(ofToday).to.deep.equal({
      day: today,
      requests: 3,
      failed: 1,
      estimated: 1,
      input_tokens: 10,
      cached_tokens: 4,
      cache_write_tokens: 3,
      output_tokens: 5,
      reasoning_tokens: 2,
      characters: 12,
      seconds: 0,
      images: 0,
      bytes: 0,
      refused: 0,
      latency_ms_mean: 83,
    });
    expect(models.map(({ model, route, requests }: Record<string, unknown>) => [model, route, requests])).to.deep.equal(
      [
        ['tts_v3', '/v1/audio/speech', 1],
        ['m-5.5', '/v1/chat/completions', 2],
      ],
    );
  });

  once('answers any valid key, also without a plan, a limit or a free slot', async () => {
    const unlimited = await look(await app.makeKey({ grants: ['extract'] }));
    expect(unlimited.json).to.deep.include({ window: null, budget: null, days: [] });
    expect(unlimited.json.key).to.include({ plan: null, models: null });
    const barred = await look(await app.makeKey({ grants: [], rpm: 0 }));
    expect(barred.json.window).to.deep.equal({ limit: 0, seconds: 60, families: {} });
    const byHeader = await app.request('/v1/usage', { headers: { 'x-api-key': await app.makeKey() } });
    expect(byHeader.status).to.equal(200);
    expect((await app.request('/v1/usage')).json.error).to.include({ code: 'missing_api_key' });
    expect((await look('sk-mg-wrong')).json.error).to.include({ code: 'invalid_api_key' });
  });

  once('filters by days, and refuses invalid ones', async () => {
    const key = await app.makeKey();
    const keyId = key.slice(6, 14);
    for (const day of [13, 14, 15, 16]) settle(keyId, { at: Date.UTC(2024, 1, day) });
    await app.state.admissions.flush();
    const { json } = await look(key, '?from=2024-02-14&to=2024-02-15');
    expect(json).to.include({ from: '2024-02-14', to: '2024-02-15' });
    expect(json.days.map(({ day }: { day: string }) => day)).to.deep.equal(['2024-02-15', '2024-02-14']);
    expect((await look(key, '?to=2024-03-01')).json).to.include({ from: '2024-02-01', to: '2024-03-01' });
    const cases: [query: string, param: string][] = [
      ['?from=yesterday', 'from'],
      ['?from=2024-02-30', 'from'],
      ['?to=2024-13-01', 'to'],
      ['?to=20240101', 'to'],
      ['?from=', 'from'],
      ['?from=2024-02-02&to=2024-02-01', 'from'],
      ['?from=2020-01-01&to=2024-02-01', 'from'],
      ['?from=2024-02-01&from=2024-02-01', 'from'],
    ];
    for (const [query, param] of cases) {
      const { status, json: refused } = await look(key, query);
      expect(status, query).to.equal(400);
      expect(refused.error, query).to.include({ type: 'invalid_request_error', code: 'invalid_value', param });
    }
  });
});
