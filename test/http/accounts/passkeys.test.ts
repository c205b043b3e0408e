/** Sign-in by invitation and passkey over HTTP: what is accepted once, and what never. */

import { expect } from 'chai';
import { DEFAULT_CATALOGUE, planTerms } from '../../../server/plans/index.js';
import { startScriptedIssuer } from '../../support/accounts/scripted-issuer.js';
import { createSoftwareAuthenticator } from '../../support/accounts/software-authenticator.js';
import { engines, ManualClock } from '../../support/databases/engines.js';
import type { Answer } from '../http/listening-app.js';
import { createPasskeyBrowser as createBrowser, SITE } from './passkey-browser.js';
import type { SignInApp } from './sign-in-app.js';
import { startSignInApp } from './sign-in-app.js';

const SESSION = '__Host-mediagate';
const HOUR_MS = 3_600_000;

describe('passkeys over HTTP', () => {
  let app: SignInApp;
  let clock: ManualClock;

  before(async () => {
    clock = new ManualClock(Date.now());
    app = await startSignInApp({ siteUrl: SITE, withoutUsers: true, clock });
  });

  after(() => app?.close());

  const invite = async (input = {}) => (await app.state.invitations.invite({ actor: 'operator:bob', ...input })).token;
  const browser = () => createBrowser(app);
  const codeOf = (answer: Answer) => [answer.status, answer.json.error?.code];

  /** Somebody who accepted an invitation. */
  async function newcomer(input = {}, isCounting = false) {
    const authenticator = createSoftwareAuthenticator(SITE, isCounting);
    const own = browser();
    const accepted = await own.accept(await invite(input), authenticator);
    expect(accepted.status, accepted.text).to.equal(201);
    return {
      authenticator,
      browser: own,
      id: accepted.json.user.id as string,
      codes: accepted.json.recoveryCodes as string[],
    };
  }

  it('make the first operator by the invitation of the start alone, once', async () => {
    const first = await app.state.invitations.inviteFirst();
    const second = await app.state.invitations.inviteFirst();
    const own = browser();
    const shown = await own.post('/api/invitation', { invitation: first?.token });
    expect(shown.json).to.include({ role: 'operator', name: null, replaces: false });
    const accepted = await own.accept(first?.token ?? '', createSoftwareAuthenticator(SITE));
    expect(accepted.status, accepted.text).to.equal(201);
    expect(accepted.json.recoveryCodes).to.have.length(10);
    expect(accepted.json.text.split('\n')).to.deep.equal(accepted.json.recoveryCodes);
    expect(await app.state.users.find(accepted.json.user.id)).to.include({ name: 'Ann', role: 'operator' });
    expect(own.cookies.has(SESSION)).to.equal(true);
    expect((await own.get('/api/user')).json.plan.id).to.equal('operator');
    expect(codeOf(await own.post('/api/invitation', { invitation: second?.token }))).to.deep.equal([
      410,
      'invitation_invalid',
    ]);
    expect(await app.state.invitations.inviteFirst()).to.equal(undefined);
  });

  it('give the account of an invitation its plan, as it was when the person was invited', async () => {
    const terms = planTerms('token_30m', { catalogue: DEFAULT_CATALOGUE, freeTierPeriod: 'lifetime' });
    const { browser: own } = await newcomer({ terms });
    const { plan } = (await own.get('/api/user')).json;
    expect(plan).to.include({ id: 'token_30m' });
    const { browser: other } = await newcomer();
    expect((await other.get('/api/user')).json.plan?.id).to.not.equal('token_30m');
    for (const wrong of [{ role: 'operator' }, { userId: 'user_any' }] as const) {
      const refused = await app.state.invitations.invite({ terms, actor: 'gateway', ...wrong }).catch((error) => error);
      expect([refused.code, refused.param]).to.deep.equal(['invalid_value', 'plan']);
    }
  });

  it('sign in with a passkey, and with nothing else', async () => {
    const { authenticator, id } = await newcomer({ role: 'billing' });
    expect(await app.state.users.find(id)).to.include({ role: 'billing' });
    const other = browser();
    const answer = await other.signIn(authenticator);
    expect([answer.status, answer.json.user?.id]).to.deep.equal([200, id]);
    expect((await other.get('/api/passkeys')).json.passkeys).to.have.length(1);
    const stranger = createSoftwareAuthenticator(SITE);
    expect(codeOf(await browser().signIn(stranger))).to.deep.equal([400, 'sign_in_failed']);
  });

  it('are where every address of the sign-in leads, and what the manifest says', async () => {
    const redirected = await app.request('/signin?return_to=/device', { redirect: 'manual' });
    expect(redirected.headers.get('location')).to.equal(`${SITE}/login?return_to=%2Fdevice`);
    const login = await app.request('/login?return_to=/device', { headers: { accept: 'text/html' } });
    expect(login.text).to.contain('data-passkey="sign-in" data-return="/device"');
    const { auth } = (await app.request('/api/agent/manifest')).json;
    expect(auth).to.include({
      provider: 'gateway.example',
      protocol: 'OpenID Connect',
      method: 'passkey',
      available: true,
      loginUrl: `${SITE}/signin`,
    });
    expect(auth.openid).to.include({ issuer: SITE, tokenUrl: `${SITE}/oauth/token` });
    expect(auth.passwordPolicy).to.contain('There are no passwords');
  });

  it('refuse a ceremony of another site, without verification of the person, or with another challenge', async () => {
    const { authenticator } = await newcomer();
    const wrong = [
      { origin: 'https://gateway.example.evil.example' },
      { origin: 'http://gateway.example', host: 'gateway.example' },
      { origin: 'https://gateway.example:8443', host: 'gateway.example' },
      { host: 'example' },
      { verified: false },
      { challenge: 'A'.repeat(43) },
      { challenge: '' },
    ];
    for (const each of wrong) {
      const own = browser();
      expect(codeOf(await own.signIn(authenticator, each)), JSON.stringify(each)).to.deep.equal([
        400,
        'sign_in_failed',
      ]);
      expect(own.cookies.has(SESSION)).to.equal(false);
      const invitation = await invite();
      const options = await own.optionsOf('/api/invitation/options', { invitation, name: 'Eve' });
      const credential = createSoftwareAuthenticator(SITE).register(options, each);
      const refused = await own.post('/api/invitation/accept', { credential });
      expect(codeOf(refused), JSON.stringify(each)).to.deep.equal([400, 'passkey_refused']);
      expect((await own.post('/api/invitation', { invitation })).status, 'the invitation stays').to.equal(200);
    }
  });

  it('refuse a challenge that was used, belongs to another browser or ceremony, or is too old', async () => {
    const { authenticator, browser: own } = await newcomer();
    const thief = browser();
    const options = await thief.optionsOf('/api/passkeys/sign-in/options');
    const credential = authenticator.signIn(options);
    const cookie = thief.cookies.get('__Host-mediagate-passkey') ?? '';
    expect(codeOf(await browser().post('/api/passkeys/sign-in', { credential }))).to.deep.equal([
      400,
      'sign_in_failed',
    ]);
    expect((await thief.post('/api/passkeys/sign-in', { credential })).status).to.equal(200);
    const again = browser();
    again.cookies.set('__Host-mediagate-passkey', cookie);
    expect(codeOf(await again.post('/api/passkeys/sign-in', { credential }))).to.deep.equal([400, 'sign_in_failed']);

    const adding = await own.optionsOf('/api/passkeys/options');
    const asSignIn = { credential: authenticator.signIn(adding) };
    expect(codeOf(await own.post('/api/passkeys/sign-in', asSignIn))).to.deep.equal([400, 'sign_in_failed']);

    const late = browser();
    const old = await late.optionsOf('/api/passkeys/sign-in/options');
    clock.advance(5 * 60_000 + 1);
    const tooLate = await late.post('/api/passkeys/sign-in', { credential: authenticator.signIn(old) });
    expect(codeOf(tooLate)).to.deep.equal([400, 'sign_in_failed']);
  });

  it('notice a copied authenticator by its counter, and accept one that does not count', async () => {
    const { authenticator, id } = await newcomer({}, true);
    expect((await browser().signIn(authenticator)).status).to.equal(200);
    for (const counter of [1, 2, 0]) {
      expect(codeOf(await browser().signIn(authenticator, { counter })), String(counter)).to.deep.equal([
        400,
        'sign_in_failed',
      ]);
    }
    const actions = (await app.state.audit.list({ subject: id, limit: 10 })).map(({ action }) => action);
    expect(actions.filter((action) => action === 'passkey.refused')).to.have.length(3);
    expect((await browser().signIn(authenticator, { counter: 900 })).status).to.equal(200);

    const plain = await newcomer();
    for (let round = 0; round < 3; round += 1)
      expect((await browser().signIn(plain.authenticator)).status).to.equal(200);
  });

  it('accept a signed counter once if two browsers send it at the same moment', async () => {
    const { authenticator } = await newcomer({}, true);
    const pair = [browser(), browser()];
    const all = await Promise.all(pair.map((each) => each.optionsOf('/api/passkeys/sign-in/options')));
    const answers = await Promise.all(
      pair.map((each, index) =>
        each.post('/api/passkeys/sign-in', { credential: authenticator.signIn(all[index], { counter: 50 }) }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, 400]);
  });

  it('use an invitation once, until it expires or is withdrawn', async () => {
    const token = await invite();
    const racing = [browser(), browser(), browser()];
    const answers = await Promise.all(racing.map((each) => each.accept(token, createSoftwareAuthenticator(SITE))));
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([201, 410, 410]);

    const short = await invite({ hours: 1 });
    const begun = browser();
    const options = await begun.optionsOf('/api/invitation/options', { invitation: short, name: 'Late' });
    clock.advance(HOUR_MS - 60_000);
    const own = browser();
    expect((await own.post('/api/invitation', { invitation: short })).status).to.equal(200);
    const lateOptions = await own.optionsOf('/api/invitation/options', { invitation: short, name: 'Late' });
    clock.advance(60_000);
    const credential = createSoftwareAuthenticator(SITE).register(lateOptions);
    expect(codeOf(await own.post('/api/invitation/accept', { credential }))).to.deep.equal([410, 'invitation_invalid']);
    expect(options.challenge).not.to.equal(lateOptions.challenge);

    const withdrawn = await invite({ name: 'Gone' });
    const { id = '' } = (await app.state.invitations.list()).find(({ name }) => name === 'Gone') ?? {};
    expect(await app.state.invitations.withdraw({ id, actor: 'operator:bob' })).to.equal(true);
    expect(await app.state.invitations.withdraw({ id, actor: 'operator:bob' })).to.equal(false);
    for (const invitation of [withdrawn, 'x', 'A'.repeat(43), '']) {
      expect(codeOf(await own.post('/api/invitation', { invitation })), invitation).to.deep.equal([
        410,
        'invitation_invalid',
      ]);
    }
    const stored = JSON.stringify(await app.state.invitations.list());
    expect(stored).not.to.contain(await invite());
  });

  it('replace everything of a user who has lost all passkeys, by an invitation for that user', async () => {
    const { authenticator, browser: own, id, codes } = await newcomer();
    const next = createSoftwareAuthenticator(SITE);
    const fresh = browser();
    const accepted = await fresh.accept(await invite({ userId: id }), next, 'Somebody else');
    expect([accepted.status, accepted.json.user?.id]).to.deep.equal([201, id]);
    expect((await app.state.users.find(id))?.name).to.equal('Ann');
    expect(codeOf(await own.get('/api/passkeys'))).to.deep.equal([401, 'not_signed_in']);
    expect(codeOf(await browser().signIn(authenticator))).to.deep.equal([400, 'sign_in_failed']);
    expect(codeOf(await browser().post('/api/passkeys/recover', { code: codes[0] }))).to.deep.equal([
      400,
      'sign_in_failed',
    ]);
    expect((await browser().signIn(next)).status).to.equal(200);
  });

  it('sign in with a recovery code once, written in any way', async () => {
    const { browser: own, id, codes } = await newcomer();
    const [one = '', two = '', three = ''] = codes;
    const recovered = browser();
    const typed = ` ${one.toLowerCase().replaceAll('-', ' ').replaceAll('0', 'o').replaceAll('1', 'l')} `;
    const answer = await recovered.post('/api/passkeys/recover', { code: typed });
    expect([answer.status, answer.json.user?.id]).to.deep.equal([200, id]);
    for (const code of [one, typed, '', 'nonsense', one.slice(1)]) {
      expect(codeOf(await browser().post('/api/passkeys/recover', { code })), code).to.deep.equal([
        400,
        'sign_in_failed',
      ]);
    }
    expect((await recovered.get('/api/passkeys')).json.recoveryCodesLeft).to.equal(9);
    const twice = await Promise.all([1, 2, 3].map(() => browser().post('/api/passkeys/recover', { code: two })));
    expect(twice.map(({ status }) => status).sort()).to.deep.equal([200, 400, 400]);
    const renewed = await own.post('/api/passkeys/recovery-codes');
    expect([renewed.status, renewed.json.recoveryCodes.length]).to.deep.equal([201, 10]);
    expect(codeOf(await browser().post('/api/passkeys/recover', { code: three }))).to.deep.equal([
      400,
      'sign_in_failed',
    ]);
  });

  it('are added, named and removed by their user, but for the last one', async () => {
    const { browser: own, authenticator, id } = await newcomer();
    const options = await own.optionsOf('/api/passkeys/options');
    expect(options.excludeCredentials.map((each: { id: string }) => each.id)).to.deep.equal([authenticator.id]);
    const second = createSoftwareAuthenticator(SITE);
    const credential = second.register(options);
    expect((await own.post('/api/passkeys', { credential })).status).to.equal(201);
    const repeated = authenticator.register(await own.optionsOf('/api/passkeys/options'));
    expect(codeOf(await own.post('/api/passkeys', { credential: repeated }))).to.deep.equal([400, 'passkey_refused']);
    const renamed = await own.post(`/api/passkeys/${second.id}`, { name: ' Key ring ' });
    expect(renamed.json.passkeys.map(({ name }: { name: string }) => name)).to.include('Key ring');
    expect(codeOf(await own.post(`/api/passkeys/${second.id}`, { name: '\u202e' }))).to.deep.equal([
      400,
      'invalid_value',
    ]);

    const { browser: stranger } = await newcomer();
    for (const path of [`/api/passkeys/${second.id}`, `/api/passkeys/${second.id}/remove`]) {
      expect(codeOf(await stranger.post(path, { name: 'mine' })), path).to.deep.equal([404, 'passkey_not_found']);
    }
    expect((await own.post(`/api/passkeys/${authenticator.id}/remove`)).status).to.equal(200);
    expect(codeOf(await browser().signIn(authenticator))).to.deep.equal([400, 'sign_in_failed']);
    expect(codeOf(await own.post(`/api/passkeys/${second.id}/remove`))).to.deep.equal([409, 'last_passkey']);
    expect((await browser().signIn(second)).status).to.equal(200);
    const [removed] = await app.state.audit.list({ subject: id, limit: 1 });
    expect(removed).to.include({ action: 'passkey.removed', actor: `user:${id}` });
  });

  it('are never changed by a program, another site, or a suspended user', async () => {
    const { browser: own, authenticator, id, codes } = await newcomer();
    const evil = createBrowser(app, 'https://evil.example');
    for (const [name, value] of own.cookies) evil.cookies.set(name, value);
    const paths = [
      '/api/passkeys',
      '/api/passkeys/options',
      '/api/passkeys/recovery-codes',
      `/api/passkeys/${authenticator.id}/remove`,
    ];
    const visitor = [
      '/api/invitation',
      '/api/invitation/options',
      '/api/invitation/accept',
      '/api/passkeys/sign-in',
      '/api/passkeys/sign-in/options',
      '/api/passkeys/recover',
    ];
    for (const path of [...paths, ...visitor]) {
      expect(codeOf(await evil.post(path)), path).to.deep.equal([403, 'cross_site_request']);
    }
    const token = 'mgd_'.padEnd(47, 'a');
    const { createHash } = await import('node:crypto');
    const hash = createHash('sha256').update(token).digest('hex');
    await app.state.sessions.create({ hash, userId: id, kind: 'device', idleMs: HOUR_MS, lifetimeMs: HOUR_MS });
    for (const path of paths) {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const answer = await app.request(path, { method: 'POST', headers, body: '{}' });
      expect(codeOf(answer), path).to.deep.equal([401, 'not_signed_in']);
    }
    await app.state.users.suspend({ userId: id, actor: 'operator:bob' });
    expect(codeOf(await browser().signIn(authenticator))).to.deep.equal([403, 'account_suspended']);
    expect(codeOf(await browser().post('/api/passkeys/recover', { code: codes[0] }))).to.deep.equal([
      403,
      'account_suspended',
    ]);
    await app.state.users.resume({ userId: id, actor: 'operator:bob' });
    expect(
      (await browser().post('/api/passkeys/recover', { code: codes[0] })).status,
      'the code was not used up',
    ).to.equal(200);
  });

  it('are limited by address', async () => {
    clock.advance(60_000);
    const own = browser();
    const statuses = [];
    for (let count = 0; count < 22; count += 1)
      statuses.push((await own.post('/api/passkeys/recover', { code: 'nonsense' })).status);
    expect(statuses.filter((status) => status === 429)).to.have.length(2);
    clock.advance(60_000);
  });

  it('are in the export of a person, without a key, and go with the person', async () => {
    const { id, authenticator, browser: own } = await newcomer();
    const copy = await own.get('/api/user/export');
    expect(copy.json.passkeys).to.have.length(1);
    expect(copy.json.passkeys[0]).to.include({ kind: 'device', host: 'gateway.example' });
    expect(copy.json.recoveryCodes).to.have.length(10);
    await app.state.erasures.begin({ userId: id, actor: 'operator:bob' });
    expect(await app.state.passkeys.list(id)).to.deep.equal([]);
    expect(codeOf(await browser().signIn(authenticator))).to.deep.equal([400, 'sign_in_failed']);
  });
});

describe('the address of the site', () => {
  const addresses: readonly [siteUrl: string, isReady: boolean][] = [
    ['https://gateway.example', true],
    ['https://gateway.example:8443/base', true],
    ['http://localhost:8787', true],
    ['http://gateway.example', false],
    ['http://127.0.0.1:8787', false],
    ['https://192.0.2.7', false],
    ['https://[2001:db8::1]', false],
  ];

  it('has passkeys only at a host name, over https or on localhost, and without a provider', async () => {
    for (const [siteUrl, isReady] of addresses) {
      const app = await startSignInApp({ siteUrl, withoutUsers: true });
      const { origin } = new URL(siteUrl);
      const answer = await createBrowser(app, origin).post('/api/passkeys/sign-in/options');
      expect(answer.status, siteUrl).to.equal(isReady ? 200 : 503);
      if (!isReady) expect(answer.json.error.message, siteUrl).to.contain('host name over https');
      await app.close();
    }
    const issuer = await startScriptedIssuer();
    const app = await startSignInApp({ siteUrl: SITE, issuer });
    const answer = await createBrowser(app).post('/api/passkeys/sign-in/options');
    expect([answer.status, answer.json.error.code]).to.deep.equal([503, 'sign_in_unavailable']);
    await app.close();
    await issuer.close();
  });
});

for (const engine of engines) {
  describe(`invitations on ${engine.name}`, () => {
    it('make one first operator, though two accept at the same moment on two nodes', async function () {
      const place = await engine.reusedPlace(this);
      const [one, other] = [await place.open(), await place.open()];
      const tokens = [await one.invitations.inviteFirst(), await other.invitations.inviteFirst()];
      const passkey = (id: string) => ({ id, publicKey: 'AA', counter: 0, transports: [], kind: 'device' as const });
      const results = await Promise.allSettled(
        tokens.map(async (token, index) => {
          const { hash: invitationHash } = await one.invitations.find(token?.token ?? '');
          const ceremony = { purpose: 'invitation', userId: `user_${index}`, invitationHash, name: 'Ann' } as const;
          const registration = { passkey: passkey(`key ${index}`), name: 'key', host: 'gateway.example' };
          return [one, other][index]?.passkeys.accept(ceremony, registration);
        }),
      );
      expect(results.map(({ status }) => status).sort()).to.deep.equal(['fulfilled', 'rejected']);
      const operators = (await one.users.list({ limit: 10 })).filter(({ role }) => role === 'operator');
      expect(operators).to.have.length(1);
      await place.remove();
    });
  });
}
