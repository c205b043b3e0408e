/** Authentication by key, grants of routes, and guesses from one address. */

import { expect } from 'chai';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';
import { LINK, type ListeningApp, startApp } from '../http/listening-app.js';

describeOnStacks('keys and grants over HTTP', (stack) => {
  const once = onceIt(stack);
  let app: ListeningApp;
  let good: string;

  before(async () => {
    app = await startApp({ stack, siteUrl: 'https://account.example' });
    good = await app.makeKey();
  });
  after(() => app.close());

  const extract = (headers: Record<string, string>) =>
    app.request('/v1/extract', {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ url: LINK }),
    });

  once('accept a key as bearer token in any letter case of the scheme, and as X-API-Key', async () => {
    const forms: Record<string, string>[] = [
      { authorization: `Bearer ${good}` },
      { authorization: `bearer ${good}` },
      { 'x-api-key': good },
      { authorization: `Bearer ${good}`, 'x-api-key': good },
    ];
    for (const headers of forms) {
      expect((await extract(headers)).status, JSON.stringify(Object.keys(headers))).to.equal(200);
    }
  });

  once('answer 401 with a specific code, and name where keys are made', async () => {
    const other = await app.makeKey();
    const expired = await app.makeKey({ expiresAt: Date.now() - 1 });
    const revoked = await app.makeKey({}, { revokedAt: Date.now() });
    const changed = `${good.slice(0, 20)}${good[20] === 'a' ? 'b' : 'a'}${good.slice(21)}`;
    const cases: [Record<string, string>, string][] = [
      [{}, 'missing_api_key'],
      [{ 'x-api-key': '' }, 'missing_api_key'],
      [{ authorization: 'Bearer ' }, 'invalid_api_key'],
      [{ authorization: `Basic ${good}` }, 'invalid_api_key'],
      [{ authorization: good }, 'invalid_api_key'],
      [{ authorization: `Bearer ${changed}` }, 'invalid_api_key'],
      [{ authorization: `Bearer ${good} ${good}` }, 'invalid_api_key'],
      [{ authorization: `Bearer ${'x'.repeat(4000)}` }, 'invalid_api_key'],
      [{ authorization: `Bearer ${good}`, 'x-api-key': other }, 'invalid_api_key'],
      [{ authorization: `Bearer ${expired}` }, 'expired_api_key'],
      [{ authorization: `Bearer ${revoked}` }, 'revoked_api_key'],
    ];
    for (const [headers, code] of cases) {
      const answer = await extract(headers);
      expect([answer.status, answer.json.error.code], JSON.stringify(headers)).to.deep.equal([401, code]);
      expect(answer.headers.get('www-authenticate')).to.equal('Bearer');
      expect(answer.json).to.include({ ok: false });
      expect(answer.json.error.type).to.equal('authentication_error');
    }
    expect((await extract({})).json.error.message).to.contain('https://account.example');
    const signIn = await extract({ authorization: `Bearer mgd_${'x'.repeat(43)}` });
    expect(signIn.json.error.message).to.contain('token of a sign-in');
  });

  once('refuse two different keys on every route, and accept the same key twice', async () => {
    const key = await app.makeKey({ grants: ['text'] });
    const list = (more: Record<string, string>) => app.request('/v1/models', { headers: more });
    const authorization = `Bearer ${key}`;
    const two = await list({ authorization, 'x-api-key': good });
    expect([two.status, two.json.error.code]).to.deep.equal([401, 'invalid_api_key']);
    expect((await list({ authorization, 'x-api-key': key })).status).to.equal(200);
    expect((await list({ 'x-api-key': key })).json.error.code).to.equal('missing_api_key');
  });

  once('answer 403 to a key without the grant and to one without requests, and take no slot', async () => {
    const images = await app.makeKey({ grants: ['images', 'text', 'audio'] });
    const none = await app.makeKey({ rpm: 0 });
    for (const key of [images, none]) {
      const answer = await app.extract(key, { url: LINK });
      expect([answer.status, answer.json.error.code]).to.deep.equal([403, 'route_not_allowed']);
      expect(answer.headers.get('x-should-retry')).to.equal('false');
      expect(answer.headers.get('ratelimit')).to.equal(null);
      expect((await app.request('/v1/capabilities', { headers: { 'x-api-key': key } })).status).to.equal(403);
    }
    expect((await app.extract(images, { url: LINK })).json.error.message).to.include(
      'not granted this route (extract)',
    );
    expect((await app.extract(none, { url: LINK })).json.error.message).to.include('0 requests a minute');
  });

  once('check the key before the body is read, typed or measured', async () => {
    const answer = await app.request('/v1/extract', { method: 'POST', body: 'x'.repeat(1_000) });
    expect(answer.json.error.code).to.equal('missing_api_key');
  });

  it('accept a new key of a command at once, and a revocation within seconds', async () => {
    const key = await app.makeKey();
    expect((await app.extract(key, { url: LINK })).status).to.equal(200);
    await app.state.keys.revoke(key.slice(6, 14), Date.now());
    const code = await until(async () => (await app.extract(key, { url: LINK })).json.error?.code, 100);
    expect(code).to.equal('revoked_api_key');
  });

  once('slow down an address that guesses keys, while valid keys from it still work', async () => {
    const guarded = await startApp({ stack });
    try {
      const key = await guarded.makeKey();
      const wrong = await guarded.makeKey();
      await guarded.state.keys.revoke(wrong.slice(6, 14), Date.now());
      const guess = () => guarded.extract('sk-mg-guess', { url: LINK });
      const statuses = new Map<number, number>();
      for (let attempt = 0; attempt < 310; attempt += 10) {
        const answers = await Promise.all(Array.from({ length: 10 }, guess));
        for (const { status } of answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
      expect(statuses.get(401)).to.be.within(300, 309);
      const blocked = await guess();
      expect([blocked.status, blocked.json.error.code]).to.deep.equal([429, 'rate_limit_exceeded']);
      expect(Number(blocked.headers.get('retry-after'))).to.be.within(1, 60);
      expect((await guarded.extract(key, { url: LINK })).status).to.equal(200);
    } finally {
      await guarded.close();
    }
  });
});
