/** Attacks on sign-in for agents: none may get a token, use one elsewhere, or reach what belongs to another account. */

import { expect } from 'chai';
import { AgentTokens } from '../../../server/identity/index.js';
import { DEFAULT_CATALOGUE } from '../../../server/plans/index.js';
import { type BrowserSession, createBrowserSession } from '../../support/accounts/browser-session.js';
import { inventedImage, inventedModel } from '../../support/images/invented-image.js';
import { rejection } from '../../support/rejection.js';
import { untilAborted } from '../../support/until-aborted.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';
import { modernClient } from '../mcp/client.js';
import {
  type Access,
  answerIn,
  CALLBACK,
  formOf,
  gainAccess,
  listTools,
  postForm,
  REGISTERED,
  redeem,
  refresh,
  register,
  requestFor,
} from './agent.js';

/** The free tier has images, so that agents have tasks. */
const CATALOGUE = {
  ...DEFAULT_CATALOGUE,
  freeTier: { ...DEFAULT_CATALOGUE.freeTier, modelAccess: ['m-5.5', 'gen-img-2'] },
  furtherGrants: [{ planId: DEFAULT_CATALOGUE.freeTier.id, grants: ['images', 'extract'] as const }],
};
/** `/mcp` itself, and a form that visitors without a session may send. */
const OF_VISITORS = ['/mcp', '/language'];
const PROMPT = { prompt: 'A tug at dawn', size: '1024x1024' };

describe('attacks on sign-in for agents', function () {
  this.timeout(90_000);
  let app: SignInApp;
  let ann: BrowserSession;
  let access: Access;
  let generate = inventedImage;

  before(async () => {
    app = await startSignInApp({ catalogue: CATALOGUE, plugins: [{ use: inventedModel((call) => generate(call)) }] });
    ann = await app.signedIn('ann@example.com');
    access = await gainAccess(app, ann);
  });
  after(() => app?.close());
  beforeEach(() => {
    generate = inventedImage;
  });

  const tokenOf = async (browser: BrowserSession): Promise<string> =>
    (await gainAccess(app, browser, access.clientId)).tokens.access_token;

  /** The error that a program reads where the browser is sent back to; undefined if it is sent to the page. */
  async function errorOf(address: string): Promise<string | undefined> {
    const { location, status } = await ann.send(address);
    if (location === undefined) return String(status);
    const { search, hash } = new URL(location);
    const sent = new URLSearchParams(search || hash.slice(1));
    expect(sent.get('code')).to.equal(null);
    return sent.get('error') ?? undefined;
  }

  it('refuse forged tokens', async () => {
    const { access_token: token, refresh_token: other } = access.tokens;
    const flipped = token.slice(0, -1) + (token.endsWith('A') ? 'B' : 'A');
    const forged = ['mga_', `mga_${'A'.repeat(43)}`, flipped, token.slice(4), `${token}A`, other, access.code];
    for (const one of [...forged, token.toUpperCase(), other.replace('mgr_', 'mga_'), `mgd_${token.slice(4)}`]) {
      const { status, headers } = await listTools(app, one);
      expect(status, one).to.equal(401);
      expect(headers.get('www-authenticate'), one).to.contain('error="invalid_token"');
    }
    const { status } = await app.request(`/mcp?access_token=${token}`, { method: 'POST', body: '{}' });
    expect(status).to.equal(401);
  });

  it('open no other route with a token', async () => {
    const { access_token: token } = access.tokens;
    const opened: string[] = [];
    for (const { method, path, grant, sessionOptional } of app.declaredRoutes()) {
      if (grant === 'none' || grant === 'signature' || sessionOptional || OF_VISITORS.includes(path)) continue;
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const init = { method, headers, redirect: 'manual', ...(method === 'POST' && { body: '{}' }) } as const;
      const { status } = await app.request(path.replace(/:\w+/g, 'none'), init);
      // A page sends the browser to the sign-in.
      if (![401, 303].includes(status) && !(grant === 'admin' && status === 404))
        opened.push(`${method} ${path}: ${status}`);
      if (method !== 'GET') continue;
      const played = await app.request(`/api/play${path.replace(/:\w+/g, 'none')}`, init);
      if (played.status < 400) opened.push(`played ${path}: ${played.status}`);
    }
    expect(opened).to.deep.equal([]);
    const withHeader = await app.request('/mcp', { method: 'POST', headers: { 'x-api-key': token }, body: '{}' });
    expect(withHeader.status).to.be.oneOf([400, 415]);
  });

  it('get no token for another audience, and none of another gateway is valid', async () => {
    for (const resource of [
      'https://evil.example/mcp',
      `${app.url}/v1`,
      app.url,
      `${app.url}/mcp/`,
      `${app.url}/mcp?x`,
    ])
      expect(await errorOf(requestFor(app, access.clientId, { resource }).address), resource).to.equal(
        'invalid_target',
      );
    const both = `${requestFor(app, access.clientId).address}&resource=${encodeURIComponent('https://evil.example/')}`;
    expect(await errorOf(both)).to.equal('invalid_target');
    const fresh = await gainAccess(app, ann, access.clientId);
    const wider = await refresh(app, fresh.clientId, fresh.tokens.refresh_token, { resource: 'https://evil.example/' });
    expect(wider.json.error).to.equal('invalid_target');
    const { artifacts } = app.state.agentSignIn;
    const elsewhere = new AgentTokens({ artifacts, keys: app.keys, resource: () => 'https://other.example/mcp' });
    const error = await rejection(Promise.resolve(elsewhere.verify(fresh.tokens.access_token)));
    expect(error).to.deep.include({ code: 'invalid_api_key' });
  });

  it('redeem no code that was intercepted', async () => {
    const clientId = await register(app);
    const other = await register(app);
    const { address, verifier } = requestFor(app, clientId);
    const back = await answerIn(ann, address, 'allow');
    const mine = { clientId, verifier, code: back.searchParams.get('code') ?? '' };
    expect(back.searchParams.get('iss')).to.equal(app.url);
    const attacks = {
      'another verifier': await redeem(app, { ...mine, verifier: requestFor(app, clientId).verifier }),
      'no verifier': await redeem(app, { ...mine, verifier: '' }),
      'the challenge': await redeem(app, {
        ...mine,
        verifier: new URL(address).searchParams.get('code_challenge') ?? '',
      }),
      'another program': await redeem(app, { ...mine, clientId: other }),
      'another address': await redeem(app, mine, { redirect_uri: REGISTERED }),
      'a refresh': await refresh(app, clientId, mine.code),
    };
    for (const [name, { json, status }] of Object.entries(attacks)) {
      expect(status, name).to.equal(400);
      expect(json.error, name).to.be.oneOf(['invalid_grant', 'invalid_request']);
    }
    expect((await redeem(app, mine)).status, 'its owner').to.equal(200);
    for (const changes of [
      { code_challenge: undefined, code_challenge_method: undefined },
      { code_challenge_method: 'plain' },
    ])
      expect(await errorOf(requestFor(app, clientId, changes).address)).to.equal('invalid_request');
    expect(await errorOf(requestFor(app, clientId, { response_type: 'token' }).address)).to.equal(
      'unsupported_response_type',
    );
  });

  it('get no access without a click of the user', async () => {
    const { address } = requestFor(app, access.clientId);
    const page = await ann.open(address);
    const { action, token } = formOf(page);
    const uid = action.split('/').at(-1) ?? '';
    const send = (form: Record<string, string>, headers = {}, browser = ann) =>
      browser.send(app.url + action, { form, headers });
    const good = { form_token: token, answer: 'allow', may_text: 'on' };

    const got = await ann.send(`${app.url}${action}?${new URLSearchParams(good)}`);
    expect(got.status).to.equal(200);
    expect(got.headers.get('refresh')).to.equal(null);
    for (const headers of [
      { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
      { origin: 'null', 'sec-fetch-site': 'cross-site' },
      { origin: app.url, 'sec-fetch-site': 'same-site' },
    ])
      expect((await send(good, headers)).status).to.equal(403);
    expect((await send({ answer: 'allow' })).status).to.equal(400);
    expect((await send({ ...good, form_token: `${token.slice(0, -1)}x` })).status).to.equal(400);
    expect((await send({ form_token: token })).status).to.equal(400);

    const skipped = await ann.send(`${app.url}/oauth/authorize/${uid}`);
    expect(skipped.location ?? '').not.to.contain('code=');
    const eve = await app.signedIn('eve@example.com');
    expect((await eve.send(app.url + action)).status, 'another browser').to.equal(400);
    expect((await send(good, {}, eve)).status).to.equal(400);
    const stranger = createBrowserSession();
    expect((await send(good, {}, stranger)).status).to.equal(401);
  });

  it('get nothing that the page did not offer, or that the user has unticked', async () => {
    const request = requestFor(app, access.clientId);
    const { action, token, rights } = formOf(await ann.open(request.address));
    expect(rights).to.deep.equal(['may_images', 'may_extract', 'may_text']);
    const good = { form_token: token, answer: 'allow' };
    for (const form of [good, { ...good, may_audio: 'on' }, { ...good, may_admin: 'on' }]) {
      const { status, text } = await ann.send(app.url + action, { form });
      expect([status, text.includes('Choose at least one right')], text).to.deep.equal([400, true]);
    }
    const back = await answerIn(ann, request.address, 'allow', ['may_text', 'may_audio', 'may_admin']);
    const code = back.searchParams.get('code') ?? '';
    const { json: tokens } = await redeem(app, { clientId: access.clientId, code, verifier: request.verifier });
    expect(tokens.scope).to.equal('text');
    const tools = (await listTools(app, tokens.access_token)).json.result.tools.map(
      ({ name }: { name: string }) => name,
    );
    expect(tools).to.deep.equal(['list_models', 'get_usage']);
    const wider = await refresh(app, access.clientId, tokens.refresh_token, { scope: 'text images' });
    expect(wider.json.error).to.equal('invalid_scope');
    const { agents } = JSON.parse((await ann.send(`${app.url}/api/user/agents`)).text);
    const given = agents.map(({ grants }: { grants: string[] }) => grants.join());
    expect(
      given.filter((one: string) => one === 'text'),
      given.join('; '),
    ).to.have.length(1);
  });

  it('accept no answer for a user whom the page was not shown to', async () => {
    const { address } = requestFor(app, access.clientId);
    const [browser, eve] = [await app.signedIn('ann@example.com'), await app.signedIn('eve@example.com')];
    const { action, token } = formOf(await browser.open(address));
    browser.setCookie(app.url, 'mediagate', eve.cookie(app.url, 'mediagate') ?? '');
    const form = { form_token: token, answer: 'allow', may_text: 'on' };
    expect((await browser.send(app.url + action, { form })).status).to.equal(400);
  });

  it('let no program answer for its user', async () => {
    const json = { 'content-type': 'application/json' };
    const post = (path: string, body: object) =>
      app.request(path, { method: 'POST', headers: json, body: JSON.stringify(body) });
    const device = (await post('/api/agent/device', { client_id: 'Shipyard CLI' })).json;
    await ann.send(`${app.url}/device`, { form: { user_code: device.user_code, answer: 'approve' } });
    const { json: session } = await post('/api/agent/device/token', { device_code: device.device_code });
    const page = await ann.open(requestFor(app, access.clientId).address);
    const { action, token } = formOf(page);
    const headers = { authorization: `Bearer ${session.access_token}` };
    const form = { form_token: token, answer: 'allow', may_text: 'on' };
    const answered = await ann.send(app.url + action, { form, headers });
    expect(answered.status, answered.text).to.equal(401);
  });

  it('send codes to no other address', async () => {
    const clientId = await register(app, [REGISTERED, 'https://agent.example/back']);
    const refused = [
      'http://localhost:3118/callback/',
      'http://localhost:3118/callback?x=1',
      'http://localhost:3118/other',
      'http://localhost:3118/callback/../other',
      'http://LOCALHOST.evil.example:3118/callback',
      'http://127.0.0.1:3118/callback',
      'https://localhost:3118/callback',
      'http://user@localhost:3118/callback',
      'http://localhost@evil.example/callback',
      'https://agent.example:444/back',
      'https://agent.example/back/',
      'https://agent.example.evil.example/back',
      'http://agent.example/back',
      'https://agent.example/back#code',
      'agent:/back',
    ];
    for (const uri of refused)
      expect(await errorOf(requestFor(app, clientId, { redirect_uri: uri }).address), uri).to.equal('400');
    expect(await errorOf(requestFor(app, clientId, { redirect_uri: undefined }).address)).to.equal('400');
    for (const uri of [REGISTERED, CALLBACK, 'http://localhost/callback', 'https://agent.example/back'])
      expect(await errorOf(requestFor(app, clientId, { redirect_uri: uri }).address), uri).to.equal(undefined);
  });

  it('register no address that could show or run something', async () => {
    const uris: unknown[] = [
      'javascript:alert(1)',
      'data:text/html,x',
      'file:///etc/passwd',
      'about:blank',
      'http://agent.example/back',
      'https://localhost/back',
      'https://agent.example/back#x',
      'https://user:password@agent.example/',
      'not an address',
      7,
      `https://agent.example/${'x'.repeat(2_000)}`,
    ];
    for (const uri of uris) {
      const answer = await app.request('/oauth/register', {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': '198.51.100.7' },
        body: JSON.stringify({ redirect_uris: [uri] }),
      });
      expect([answer.status, answer.json.error], String(uri)).to.deep.equal([400, 'invalid_redirect_uri']);
    }
  });

  it("read, cancel and get nothing of another account's tasks", async () => {
    generate = ({ signal }) => untilAborted(signal);
    const eve = await app.signedIn('eve@example.com');
    const [mine, hers] = [await tokenOf(ann), await tokenOf(eve)];
    const begun = await modernClient(app, mine).call('generate_image', PROMPT, { tasks: true });
    const { taskId } = begun.json.result;
    expect(taskId, begun.text).to.match(/^imgjob_/);
    for (const method of ['tasks/get', 'tasks/cancel', 'tasks/update']) {
      const { json } = await modernClient(app, hers).send(method, { taskId });
      expect(json.error?.code, method).to.equal(-32602);
    }
    expect((await modernClient(app, mine).send('tasks/get', { taskId })).json.result.status).to.equal('working');
    const dashboard = await ann.send(`${app.url}/dashboard`);
    const [, path = ''] = /action="(\/agents\/conn_[0-9a-f]{16}\/disconnect)"/.exec(dashboard.text) ?? [];
    await eve.send(app.url + path, { form: {} });
    expect((await listTools(app, mine)).status, 'ended by another user').to.equal(200);
    await ann.send(app.url + path, { form: {} });
    expect((await listTools(app, mine)).status).to.equal(401);
    // Its running task ends with the connection; another agent of the account reads that.
    const another = await tokenOf(ann);
    const { json } = await modernClient(app, another).send('tasks/get', { taskId });
    expect(json.result.status).to.equal('cancelled');
  });

  it('use no token of a suspended account', async () => {
    const browser = await app.signedIn('carol@example.com');
    const carol = await gainAccess(app, browser, access.clientId);
    const [user] = await app.state.users.list({ limit: 1, search: 'carol@example.com' });
    await app.state.users.suspend({ userId: user?.id ?? '', actor: 'operator:test' });
    await app.keys.refresh();
    expect((await listTools(app, carol.tokens.access_token)).status).to.equal(403);
    expect((await refresh(app, carol.clientId, carol.tokens.refresh_token)).json.error).to.equal('invalid_grant');
  });

  it('refuse arguments of 10 MB', async () => {
    const { status, json } = await app.request('/mcp', {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${access.tokens.access_token}` },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'x', arguments: { a: 'x'.repeat(10_000_000) } },
      }),
    });
    expect([status, json.error.code]).to.deep.equal([413, 'request_too_large']);
    const form = await postForm(app, '/oauth/token', {
      grant_type: 'refresh_token',
      refresh_token: 'x'.repeat(100_000),
    });
    expect(form.status).to.equal(413);
  });
});
