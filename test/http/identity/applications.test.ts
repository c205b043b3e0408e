/** Applications of the operator sign people in with passkeys of the gateway, as OpenID provider: with a library, and what is refused. */

import { expect } from 'chai';
import * as oidc from 'openid-client';
import { applicationSecret } from '../../../server/identity/index.js';
import { createSoftwareAuthenticator } from '../../support/accounts/software-authenticator.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { createPasskeyBrowser, SITE } from '../accounts/passkey-browser.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';
import { listTools, postForm } from './agent.js';

const CALLBACK = 'https://grafana.example/login/generic_oauth';
const APPS = [
  { name: 'grafana', redirectUris: [CALLBACK, 'https://grafana.example/other'] },
  { name: 'chat', redirectUris: ['https://chat.example/callback'] },
];

describeOnStacks('sign-in at applications of the operator', (stack) => {
  let app: SignInApp;
  let secret: string;

  before(async () => {
    app = await startSignInApp({ stack, siteUrl: SITE, withoutUsers: true, signInApps: APPS });
    secret = applicationSecret(app.pepper.secret, 'grafana');
  });
  after(() => app?.close());

  /** The library, whose requests to the site arrive at the app. */
  const fetchSite: oidc.CustomFetch = (url, options) =>
    fetch(url.replace(SITE, app.url), { ...options, body: options.body as BodyInit | undefined } as RequestInit);

  async function client(auth = oidc.ClientSecretPost(secret)): Promise<oidc.Configuration> {
    const metadata = { id_token_signed_response_alg: 'ES256' };
    const options = { [oidc.customFetch]: fetchSite };
    const found = await oidc.discovery(new URL(SITE), 'grafana', metadata, auth, options);
    oidc.enableNonRepudiationChecks(found);
    return found;
  }

  /** Somebody with a passkey, signed out. */
  async function person(name = 'Ann') {
    const authenticator = createSoftwareAuthenticator(SITE);
    const { token } = await app.state.invitations.invite({ actor: 'operator:bob' });
    const accepted = await createPasskeyBrowser(app).accept(token, authenticator, name);
    expect(accepted.status, accepted.text).to.equal(201);
    return { id: accepted.json.user.id as string, authenticator, browser: createPasskeyBrowser(app) };
  }
  type Person = Awaited<ReturnType<typeof person>>;

  const verifier = oidc.randomPKCECodeVerifier();
  async function addressOf(configuration: oidc.Configuration, changes: Record<string, string | undefined> = {}) {
    const fields = {
      redirect_uri: CALLBACK,
      scope: 'openid profile email',
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state: 'its state',
      nonce: 'its nonce',
      ...changes,
    };
    const sent = Object.entries(fields).filter((one): one is [string, string] => one[1] !== undefined);
    return oidc.buildAuthorizationUrl(configuration, Object.fromEntries(sent));
  }

  /** Follows redirects within the site. @returns Where the last answer leads, or the page that ends the way. */
  async function follow({ browser }: Pick<Person, 'browser'>, address: string) {
    let location = address;
    for (let hop = 0; hop < 8; hop += 1) {
      const answer = await browser.get(location.slice(SITE.length));
      const next = answer.headers.get('location');
      if (next === null) return { location, answer };
      location = new URL(next, SITE).href;
      if (!location.startsWith(SITE)) return { location };
    }
    throw new Error('too many redirects');
  }

  /** Goes through the page with the passkey. @returns The address at the application. */
  async function signIn(one: Person, address: string): Promise<URL> {
    const login = await follow(one, address);
    expect(login.answer?.text).to.contain('data-passkey="sign-in"');
    const returnTo = new URL(login.location).searchParams.get('return_to') ?? '';
    expect(returnTo).to.match(/^\/oauth\/consent\//);
    expect((await one.browser.signIn(one.authenticator)).status).to.equal(200);
    return new URL((await follow(one, SITE + returnTo)).location);
  }

  const checks = { pkceCodeVerifier: verifier, expectedState: 'its state', expectedNonce: 'its nonce' };

  for (const [how, auth] of [
    ['its secret in the body', () => oidc.ClientSecretPost(secret)],
    ['Basic', () => oidc.ClientSecretBasic(secret)],
  ] as const)
    it(`sign a person in with a passkey, by ${how}; the second time without a page`, async () => {
      const configuration = await client(auth());
      const one = await person();
      const address = await addressOf(configuration);
      const back = await signIn(one, address.href);
      expect(back.href.startsWith(`${CALLBACK}?`)).to.equal(true);
      const tokens = await oidc.authorizationCodeGrant(configuration, back, checks);
      expect(tokens.claims()).to.include({ iss: SITE, aud: 'grafana', sub: one.id, name: 'Ann', nonce: 'its nonce' });
      expect(tokens.refresh_token).to.equal(undefined);
      const about = await oidc.fetchUserInfo(configuration, tokens.access_token, one.id);
      expect(about).to.deep.equal({ sub: one.id, name: 'Ann' });
      // It opens nothing else.
      expect((await listTools(app, tokens.access_token)).status).to.equal(401);
      const models = await app.request('/v1/models', { headers: { authorization: `Bearer ${tokens.access_token}` } });
      expect(models.status).to.equal(401);
      const again = await follow(one, (await addressOf(configuration)).href);
      expect(again.location.startsWith(`${CALLBACK}?`)).to.equal(true);
      const next = await oidc.authorizationCodeGrant(configuration, new URL(again.location), checks);
      expect(next.claims()?.sub).to.equal(one.id);
    });

  it('refuse another address, requests without PKCE, and an application that is not named', async () => {
    const configuration = await client();
    const one = await person();
    const errorOf = async (changes: Record<string, string | undefined>) => {
      const { location, answer } = await follow(one, (await addressOf(configuration, changes)).href);
      return answer ? answer.status : new URL(location).searchParams.get('error');
    };
    expect(await errorOf({ redirect_uri: 'https://evil.example/callback' })).to.equal(400);
    expect(await errorOf({ redirect_uri: `${CALLBACK}/more` })).to.equal(400);
    expect(await errorOf({ client_id: 'unknown' })).to.equal(400);
    expect(await errorOf({ code_challenge: undefined, code_challenge_method: undefined })).to.equal('invalid_request');
    expect(await errorOf({ code_challenge_method: 'plain' })).to.equal('invalid_request');
    expect(await errorOf({ prompt: 'none' })).to.equal('login_required');
  });

  const errorAt = (location: string) => new URL(location).searchParams.get('error');

  it('sign in without a page by prompt=none, and say login_required where that is not possible', async () => {
    const configuration = await client();
    const one = await person();
    const silent = async (changes: Record<string, string> = {}) =>
      (await follow(one, (await addressOf(configuration, { prompt: 'none', ...changes })).href)).location;
    expect(errorAt(await silent())).to.equal('login_required');
    const first = await signIn(one, (await addressOf(configuration)).href);
    expect(first.searchParams.get('code')).to.be.a('string');
    for (const changes of [{}, { max_age: '600' }] as Record<string, string>[]) {
      const back = new URL(await silent(changes));
      const tokens = await oidc.authorizationCodeGrant(configuration, back, checks);
      expect(tokens.claims()?.sub).to.equal(one.id);
    }
    // A new sign-in needs a page.
    expect(errorAt(await silent({ max_age: '0' }))).to.equal('login_required');
    expect(errorAt(await silent({ prompt: 'none login' }))).to.equal('invalid_request');
    expect(errorAt(await silent({ max_age: 'soon' }))).to.equal('invalid_request');
    expect(errorAt(await silent({ prompt: 'other' }))).to.equal('invalid_request');
    // A session that ends between the two steps.
    const { href } = await addressOf(configuration, { prompt: 'none' });
    const begun = await one.browser.get(href.slice(SITE.length));
    await app.state.sessions.endAllOf({ userId: one.id, actor: 'operator:bob' });
    const onward = new URL(begun.headers.get('location') ?? '', SITE).href;
    expect(errorAt((await follow(one, onward)).location)).to.equal('login_required');
  });

  it('ask who is signed in for a new sign-in by prompt=login and max_age, and state its time', async () => {
    const configuration = await client();
    const one = await person();
    await signIn(one, (await addressOf(configuration)).href);
    const asked = [{ prompt: 'login' }, { prompt: 'select_account' }, { max_age: '0' }] as Record<string, string>[];
    for (const changes of asked) {
      const begun = Math.floor(Date.now() / 1_000);
      const back = await signIn(one, (await addressOf(configuration, changes)).href);
      const tokens = await oidc.authorizationCodeGrant(configuration, back, checks);
      expect(tokens.claims()?.auth_time, JSON.stringify(changes)).to.be.at.least(begun - 1);
    }
    // A sign-in that is recent enough is not asked for again.
    const { location } = await follow(one, (await addressOf(configuration, { max_age: '3600' })).href);
    const options = { ...checks, maxAge: 3_600 };
    const tokens = await oidc.authorizationCodeGrant(configuration, new URL(location), options);
    expect(tokens.claims()?.auth_time).to.be.a('number');
    // No client sets what the gateway keeps beside its request.
    const forged = await addressOf(configuration, { prompt: 'login', mediagate_since: '0', mediagate_silent: '1' });
    expect((await follow(one, forged.href)).answer?.text).to.contain('data-passkey="sign-in"');
  });

  it('are listed for operators with who signed in last, and without secrets', async () => {
    const configuration = await client();
    const one = await person('Cem');
    await signIn(one, (await addressOf(configuration)).href);
    const key = await app.makeKey({ grants: ['admin'] });
    const { json, text } = await app.request('/v1/admin/applications', { headers: { authorization: `Bearer ${key}` } });
    expect(text).not.to.contain(secret);
    const [grafana, chat] = json.data;
    expect(grafana).to.include({ name: 'grafana', last_sign_in_at: grafana.sign_ins[0].at });
    expect(grafana.redirect_uris).to.deep.equal(APPS[0]?.redirectUris);
    expect(grafana.sign_ins[0]).to.include({ user: one.id, name: 'Cem', email: null });
    expect(chat).to.deep.include({ name: 'chat', last_sign_in_at: null, sign_ins: [] });
  });

  it('refuse a code that was used, of another application, with another secret or verifier', async () => {
    const configuration = await client();
    const one = await person();
    const newCode = async () => {
      const { href } = await addressOf(configuration);
      const back = one.browser.cookies.has('__Host-mediagate')
        ? new URL((await follow(one, href)).location)
        : await signIn(one, href);
      return back.searchParams.get('code') ?? '';
    };
    const redeem = (code: string, changes: Record<string, string> = {}) =>
      postForm(app, '/oauth/token', {
        grant_type: 'authorization_code',
        client_id: 'grafana',
        client_secret: secret,
        redirect_uri: CALLBACK,
        code_verifier: verifier,
        code,
        ...changes,
      });
    const codeOf = ({ status, json }: Awaited<ReturnType<typeof redeem>>) => [status, json.error];
    const other = { client_id: 'chat', client_secret: applicationSecret(app.pepper.secret, 'chat') };
    expect(codeOf(await redeem(await newCode(), other))).to.deep.equal([400, 'invalid_grant']);
    expect(codeOf(await redeem(await newCode(), { client_secret: other.client_secret }))).to.deep.equal([
      401,
      'invalid_client',
    ]);
    expect(codeOf(await redeem(await newCode(), { client_secret: '' }))).to.deep.equal([401, 'invalid_client']);
    const wrong = oidc.randomPKCECodeVerifier();
    expect(codeOf(await redeem(await newCode(), { code_verifier: wrong }))).to.deep.equal([400, 'invalid_grant']);
    const [, uri = ''] = APPS[0]?.redirectUris ?? [];
    expect(codeOf(await redeem(await newCode(), { redirect_uri: uri }))).to.deep.equal([400, 'invalid_grant']);
    const code = await newCode();
    const { json: tokens } = await redeem(code);
    const about = () => app.request('/oauth/userinfo', { headers: { authorization: `Bearer ${tokens.access_token}` } });
    expect((await about()).json.sub).to.equal(one.id);
    expect(codeOf(await redeem(code))).to.deep.equal([400, 'invalid_grant']);
    // What was got by the first use ends, too.
    const ended = await about();
    expect([ended.status, ended.headers.get('www-authenticate')]).to.deep.equal([401, 'Bearer error="invalid_token"']);
  });

  it('let nobody in who is suspended, and nothing of agents', async () => {
    const configuration = await client();
    const one = await person();
    const back = await signIn(one, (await addressOf(configuration)).href);
    await app.state.users.suspend({ userId: one.id, actor: 'operator:bob' });
    const refused = await oidc.authorizationCodeGrant(configuration, back, checks).catch((error: unknown) => error);
    expect(refused).to.include({ error: 'invalid_grant' });
    // Rights of agents are no scope of an application.
    const two = await person('Bob');
    const code = await signIn(two, (await addressOf(configuration, { scope: 'openid text images' })).href);
    const tokens = await oidc.authorizationCodeGrant(configuration, code, checks);
    expect(tokens.scope).to.equal('openid');
    expect(tokens.claims()).to.not.have.property('name');
  });
});
