/** Agents sign in by the address of the endpoint alone: the whole way, with the protocol's own client. */

import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'chai';
import { createBrowserSession } from '../../support/accounts/browser-session.js';
import { describeOnStacks } from '../../support/databases/stacks.js';
import { onceIt } from '../../support/runner/variants.js';
import { type SignInApp, startSignInApp } from '../accounts/sign-in-app.js';
import {
  answerIn,
  connectAgain,
  connectAgent,
  formOf,
  gainAccess,
  listTools,
  postForm,
  redeem,
  refresh,
  register,
  requestFor,
} from './agent.js';

describeOnStacks('sign-in for agents', (stack) => {
  const once = onceIt(stack);
  let app: SignInApp;

  before(async () => {
    app = await startSignInApp({ stack });
  });
  after(() => app?.close());

  once('connects an agent by the address alone, which lists its tools until it is disconnected', async () => {
    const browser = await app.signedIn('ann@example.com');
    const { client, memory } = await connectAgent(app, browser);
    const { tools } = await client.listTools();
    // The free tier has text models alone.
    expect(tools.map(({ name }) => name)).to.deep.equal(['list_models', 'get_usage']);
    const { isError, structuredContent } = await client.callTool({ name: 'get_usage', arguments: {} });
    expect(isError, JSON.stringify(structuredContent)).to.not.equal(true);
    await client.close();

    const dashboard = await browser.send(`${app.url}/dashboard`);
    expect(dashboard.text).to.contain('Connected agents').and.to.contain('Shipyard agent');
    const [, path = ''] = /action="(\/agents\/conn_[0-9a-f]{16}\/disconnect)"/.exec(dashboard.text) ?? [];
    const ended = await browser.send(app.url + path, { form: {} });
    expect(ended.status).to.equal(303);
    expect((await browser.send(`${app.url}/dashboard`)).text).not.to.contain('Shipyard agent');
    const { access_token: token = '' } = memory.stored ?? {};
    const refused = await listTools(app, token);
    expect(refused.status).to.equal(401);
    expect(refused.headers.get('www-authenticate')).to.contain('error="invalid_token"');
  });

  once('replaces refresh tokens, and the client gets a new token by itself', async () => {
    const browser = await app.signedIn('bob@example.com');
    const { clientId, tokens } = await gainAccess(app, browser);
    expect(tokens).to.deep.include({ token_type: 'Bearer', expires_in: 900 });
    expect(tokens.access_token).to.match(/^mga_[\w-]{43}$/);
    expect(tokens.refresh_token).to.match(/^mgr_[\w-]{43}$/);
    const next = await refresh(app, clientId, tokens.refresh_token);
    expect(next.status, next.text).to.equal(200);
    expect(next.headers.get('cache-control')).to.equal('no-store');
    expect(next.json.refresh_token).to.match(/^mgr_/).and.not.to.equal(tokens.refresh_token);
    expect((await listTools(app, next.json.access_token)).status).to.equal(200);
    // It is for the endpoint alone: only applications of the operator learn who the user is.
    const headers = { authorization: `Bearer ${next.json.access_token}` };
    expect((await app.request('/oauth/userinfo', { headers })).status).to.equal(403);

    const { client, memory } = await connectAgent(app, browser);
    await client.close();
    memory.stored = { ...memory.stored, access_token: `mga_${'x'.repeat(43)}`, token_type: 'Bearer' };
    const again = await connectAgain(app, memory);
    expect((await again.listTools()).tools.length).to.be.above(0);
    await again.close();
  });

  // What is stored is read in the files of SQLite; the payloads are the same on both stacks.
  if (stack.isFirst)
    it('stores nothing that opens anything', async () => {
      const browser = await app.signedIn('eve@example.com');
      const { tokens, code } = await gainAccess(app, browser);
      const files = await readdir(app.dataDir, { recursive: true, withFileTypes: true });
      const stored = await Promise.all(
        files.filter((one) => one.isFile()).map((one) => readFile(path.join(one.parentPath, one.name), 'latin1')),
      );
      const all = stored.join('\n');
      expect(all).to.contain('AccessToken').and.to.contain('Shipyard agent');
      for (const secret of [tokens.access_token, tokens.refresh_token, code]) {
        expect(all.includes(secret)).to.equal(false);
        expect(all.includes(secret.slice(4, 30))).to.equal(false);
      }
    });

  it('ends a connection when a code or a refresh token is used twice, also at the same moment', async () => {
    const browser = await app.signedIn('mallory@example.com');
    const one = await gainAccess(app, browser);
    expect((await redeem(app, one)).json.error).to.equal('invalid_grant');
    expect((await listTools(app, one.tokens.access_token)).status).to.equal(401);
    expect((await refresh(app, one.clientId, one.tokens.refresh_token)).json.error).to.equal('invalid_grant');

    const two = await gainAccess(app, browser);
    const next = await refresh(app, two.clientId, two.tokens.refresh_token);
    expect((await refresh(app, two.clientId, two.tokens.refresh_token)).json.error).to.equal('invalid_grant');
    expect((await listTools(app, next.json.access_token)).status).to.equal(401);
    expect((await refresh(app, two.clientId, next.json.refresh_token)).json.error).to.equal('invalid_grant');

    const three = await gainAccess(app, browser);
    const both = await Promise.all([1, 2, 3].map(() => refresh(app, three.clientId, three.tokens.refresh_token)));
    expect(both.filter(({ status }) => status === 200).length).to.be.at.most(1);
    expect((await listTools(app, three.tokens.access_token)).status).to.equal(401);
  });

  once('lists connections of the account, and disconnects them', async () => {
    const [browser, eve] = [await app.signedIn('dora@example.com'), await app.signedIn('eve@example.com')];
    const { tokens } = await gainAccess(app, browser);
    const agents = async () => JSON.parse((await browser.send(`${app.url}/api/user/agents`)).text).agents;
    const [agent] = await agents();
    expect(agent).to.include({ name: 'Shipyard agent', publisher: null, redirectHost: 'localhost:41999' });
    expect(agent.grants).to.deep.equal(['text']);
    const end = async (user: typeof browser) =>
      (await user.send(`${app.url}/api/user/agents/${agent.id}/disconnect`, { json: {} })).status;
    expect(await end(eve)).to.equal(404);
    expect((await listTools(app, tokens.access_token)).status).to.equal(200);
    expect(await end(browser)).to.equal(204);
    expect((await listTools(app, tokens.access_token)).status).to.equal(401);
    expect(await end(browser)).to.equal(404);
    expect(await agents()).to.deep.equal([]);
    // The code waits for its program, and later is no more.
    const { address } = requestFor(app, await register(app));
    const code = (await answerIn(browser, address, 'allow')).searchParams.get('code') ?? '';
    expect(await agents()).to.have.length(1);
    await app.state.agentSignIn.artifacts.delete('AuthorizationCode', code);
    expect(await agents()).to.deep.equal([]);
  });

  once('ends the connection that a program gives up', async () => {
    const browser = await app.signedIn('carol@example.com');
    const { clientId, tokens } = await gainAccess(app, browser);
    const other = await register(app);
    await postForm(app, '/oauth/revoke', { token: tokens.refresh_token, client_id: other });
    expect((await listTools(app, tokens.access_token)).status, 'another program').to.equal(200);
    const ended = await postForm(app, '/oauth/revoke', { token: tokens.refresh_token, client_id: clientId });
    expect(ended.status).to.equal(200);
    expect((await listTools(app, tokens.access_token)).status).to.equal(401);
    const unknown = await postForm(app, '/oauth/revoke', { token: 'mgr_unknown', client_id: clientId });
    expect(unknown.status).to.equal(200);
  });

  once('asks the user to sign in, names program, host and rights, and goes back when they refuse', async () => {
    const clientId = await register(app, undefined, { client_name: 'Shipyard <b>agent</b> \u202e' });
    const { address } = requestFor(app, clientId, { scope: 'text images unknown' });
    const browser = createBrowserSession();
    const login = await browser.open(address);
    expect(login.url).to.match(/\/login\?return_to=%2Foauth%2Fconsent%2F/);
    await app.signIn(browser, 'ann@example.com');
    const page = await browser.open(address);
    expect(page.text).to.contain('Shipyard &lt;b&gt;agent&lt;/b&gt;').and.not.to.contain('\u202e');
    expect(page.text).to.contain('localhost:41999').and.to.contain('<strong><bdi>ann</bdi></strong>');
    expect(page.text)
      .to.contain('Ask text models')
      .and.to.contain('which your plan does not include: Make and edit images');
    expect(page.text).not.to.contain('Transcribe, translate');
    expect(page.headers.get('content-security-policy')).to.contain("frame-ancestors 'none'");
    expect(page.headers.get('content-security-policy')).to.contain("form-action 'self'");
    const back = await answerIn(browser, address, 'deny');
    expect(back.origin + back.pathname).to.equal('http://localhost:41999/callback');
    expect(back.searchParams.get('error')).to.equal('access_denied');
    expect(back.searchParams.get('state')).to.equal('state of the agent');
    await app.state.users.setLanguage(
      (await app.state.users.list({ limit: 1, search: 'ann@example.com' }))[0]?.id ?? '',
      'vi',
    );
    const vietnamese = await browser.open(address);
    expect(vietnamese.text).to.contain('Chương trình được phép');
    expect(formOf(vietnamese).action).to.match(/^\/oauth\/consent\//);
  });

  once('asks again for each request, also of a program that was allowed before', async () => {
    const browser = await app.signedIn('ann@example.com');
    const { clientId } = await gainAccess(app, browser);
    const page = await browser.open(requestFor(app, clientId).address);
    expect(formOf(page).action).to.match(/^\/oauth\/consent\//);
    const quiet = await browser.send(requestFor(app, clientId, { prompt: 'none' }).address);
    expect(new URL(quiet.location ?? '').searchParams.get('error')).to.equal('login_required');
  });

  once('names where to sign in', async () => {
    const { status, headers } = await listTools(app, undefined);
    expect(status).to.equal(401);
    const metadata = `${app.url}/.well-known/oauth-protected-resource/mcp`;
    expect(headers.get('www-authenticate')).to.equal(
      `Bearer resource_metadata="${metadata}", scope="images extract text audio"`,
    );
    const { json } = await app.request('/.well-known/oauth-protected-resource/mcp');
    expect(json).to.deep.include({ resource: `${app.url}/mcp`, authorization_servers: [app.url] });
    const server = await app.request('/.well-known/oauth-authorization-server');
    expect(server.json).to.deep.include({
      issuer: app.url,
      authorization_endpoint: `${app.url}/oauth/authorize`,
      token_endpoint: `${app.url}/oauth/token`,
      registration_endpoint: `${app.url}/oauth/register`,
      code_challenge_methods_supported: ['S256'],
      token_endpoint_auth_methods_supported: ['none'],
      client_id_metadata_document_supported: true,
    });
    expect((await app.request('/v1/usage')).headers.get('www-authenticate')).to.equal('Bearer');
  });
});
