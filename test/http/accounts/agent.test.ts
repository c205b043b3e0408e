/** Discovery for programs: manifest, session and guides. */

import { expect } from 'chai';
import echoText from 'mediagate/plugins/echo_text';
import { DEFAULT_CATALOGUE } from '../../../server/plans/index.js';
import type { Answer } from '../http/listening-app.js';
import { newcomer } from './client.js';
import { type SignInApp, startSignInApp } from './sign-in-app.js';

const PLAN_FIELDS =
  'id name durationDays requestLimit tokenLimit dailyTokenLimit imageLimit imageMonthlyLimit opusRequestLimit imageLimitText imageDailyLimit maxImagesPerRequest allModels includesAudio includesImage imageOnly note includedRpm maxRpm';

describe('discovery for programs', () => {
  let app: SignInApp;

  before(async () => {
    app = await startSignInApp({ plugins: [{ id: 'm-5.5', use: echoText, options: { model: 'm-5.5' } }] });
  });
  after(() => app.close());

  async function expectTagged(path: string, keeping: string, headers: Record<string, string> = {}): Promise<Answer> {
    const answer = await app.request(path, { headers });
    expect(answer.status, answer.text).to.equal(200);
    expect(answer.headers.get('cache-control')).to.equal(keeping);
    const etag = answer.headers.get('etag') ?? '';
    const again = await app.request(path, { headers: { ...headers, 'if-none-match': etag } });
    expect([again.status, again.text, again.headers.get('etag')]).to.deep.equal([304, '', etag]);
    const other = await app.request(path, { headers: { ...headers, 'if-none-match': '"other"' } });
    expect([other.status, other.text]).to.deep.equal([200, answer.text]);
    return answer;
  }

  it('returns a manifest with every field of the service document', async () => {
    const { json } = await expectTagged('/api/agent/manifest', 'public, max-age=300');
    expect(json).to.include({ name: 'mediagate', version: '2026-06-15' });
    expect(json.description).to.be.a('string').and.not.to.equal('');
    expect(json.auth).to.include({ provider: 'dev_identity', loginUrl: `${app.url}/signin`, available: true });
    expect(json.auth.unauthenticatedInstruction).to.contain('loginUrl');
    expect(json.auth.passwordPolicy).to.contain('password');
    expect(json.plans).to.deep.equal(DEFAULT_CATALOGUE.plans);
    expect(json.models).to.deep.nested.include({
      'chat.recommended': { first: 'm-5.5', coding: 'm-5.4-mini', longWorkEffort: 'high' },
      // Those that are ready, and no others.
      'chat.models': ['m-5.5'],
      audio: [],
    });
    expect(json.clientSetup.clients.map(({ id }: { id: string }) => id)).to.include.members([
      'codex',
      'curl',
      'mcp-claude-code',
      'mcp-codex',
      'mcp-vscode',
      'mcp-inspector',
    ]);
    expect(json.endpoints.mcp).to.equal(`${app.url}/mcp`);
    expect(json.imageApi).to.deep.include({ model: 'gen-img-2', imagesPerRequest: 1, defaultSize: '1024x1024' });
    expect(json.imageApi.references).to.include({ max: 4, maxBytes: 10_485_760, resizedAbovePixels: 20_000_000 });
    expect(json.security.keyStorage).to.contain('MEDIAGATE_API_KEY');
    for (const address of Object.values(json.endpoints))
      expect(String(address).startsWith(`${app.url}/`)).to.equal(true);
    expect(json.endpoints.plans).to.equal(`${app.url}/api/agent/plans`);
    expect(json.methods.user).to.deep.equal(['GET', 'POST', 'DELETE']);
  });

  it('lists the plans of the service document, with null for no limit', async () => {
    const { json } = await expectTagged('/api/agent/plans', 'public, max-age=300');
    expect(json).to.include({ version: '2026-06-15', publicPriceTablesVisible: false });
    for (const plan of json.plans) expect(Object.keys(plan)).to.have.members(PLAN_FIELDS.split(' '));
    expect(json.plans.map(({ id, tokenLimit }: Record<string, unknown>) => [id, tokenLimit])).to.deep.equal([
      ['token_30m', 30_000_000],
      ['token_100m', 100_000_000],
      ['token_300m', 300_000_000],
    ]);
    expect(json).to.deep.include({
      freeTier: { id: 'free', name: 'Free', requestLimit: 50, rpm: 30, modelAccess: ['m-5.5'] },
      payAsYouGo: { eligible: false, packages: [], ratesPerMillionTokens: [] },
      prices: [],
    });
    expect(json.support).to.have.all.keys('text', 'email', 'url');
  });

  it('returns the signed-in user, and advises programs without a session', async () => {
    const nobody = await expectTagged('/api/agent/session', 'private, no-cache');
    expect(nobody.json).to.have.all.keys('authenticated', 'loginUrl', 'instruction');
    expect(nobody.json).to.include({ authenticated: false, loginUrl: `${app.url}/signin` });
    expect(nobody.headers.get('vary'))
      .to.match(/cookie/i)
      .and.to.match(/authorization/i);

    const ann = await newcomer(app, 'ann@example.com');
    const { json } = await expectTagged('/api/agent/session', 'private, no-cache', { ...ann.headers });
    expect(json).to.include({ authenticated: true, kind: 'browser', plan: null });
    expect(json.user)
      .to.include({ email: 'ann@example.com' })
      .and.to.have.property('id')
      .that.matches(/^user_/);
    expect(json.keys).to.deep.equal({ count: 0 });
    expect(Date.parse(json.expiresAt)).to.be.greaterThan(Date.now());
    expect(JSON.stringify(json)).not.to.contain('subject').and.not.to.contain('hash');
    await ann.post('/api/user');
    const later = (await ann.get('/api/agent/session')).json;
    expect(later.keys).to.deep.equal({ count: 1 });
    expect(later.plan).to.include({ id: 'free', name: 'Free', state: 'active' });
  });

  it('guides through the setup of a client, as JSON or to be read', async () => {
    const { json } = await expectTagged('/api/agent/setup', 'private, no-cache');
    expect(json.baseUrl).to.equal(app.url);
    expect(json.env.name).to.equal('MEDIAGATE_API_KEY');
    const ids = json.clients.map(({ id }: { id: string }) => id);
    const agents = ['mcp-claude-code', 'mcp-codex', 'mcp-vscode', 'mcp-inspector'];
    expect(ids).to.deep.equal(['env', 'curl', 'openai-node', 'openai-python', 'codex', ...agents]);
    for (const { id, files, commands } of json.clients.slice(-agents.length)) {
      const text = [...files.map(({ content }: { content: string }) => content), ...commands].join('\n');
      expect(text, id).to.contain(`${app.url}/mcp`);
    }
    expect(json.account).to.equal(null);
    expect(json.steps.join('\n')).to.match(/Make an API key: .+ Claude Code, Codex with tools, VS Code sign in by/);
    const alone = (await app.request('/api/agent/setup?client=mcp-codex')).json;
    expect(alone.clients[0].signsIn).to.equal(true);
    expect(alone.steps.join('\n')).to.contain('needs no API key').and.not.to.contain('Make an API key');
    const [codex] = (await app.request('/api/agent/setup?client=codex')).json.clients;
    expect(codex).to.include({ id: 'codex', wire_api: 'responses' });
    expect(codex.files[0].content).to.contain(`base_url = "${app.url}/v1"`).and.to.contain('wire_api = "responses"');

    const headers = { accept: 'text/markdown' };
    const read = await app.request('/api/agent/setup?client=curl', { headers });
    expect(read.headers.get('content-type')).to.equal('text/markdown; charset=utf-8');
    expect(read.headers.get('vary')).to.match(/accept/i);
    expect(read.text)
      .to.match(/^# Setting up a client\n/)
      .and.to.contain(`curl '${app.url}/v1/responses'`);
    expect(read.text).not.to.contain('codex');
    for (const query of ['?client=emacs', '?client=', '?client=curl&client=env']) {
      const refused = await app.request(`/api/agent/setup${query}`);
      expect([refused.status, refused.json.error.code, refused.json.error.param]).to.deep.equal([
        400,
        'invalid_value',
        'client',
      ]);
    }
  });

  it('adds what the account may use to the guide, and never a key', async () => {
    const bob = await newcomer(app, 'bob@example.com');
    const { apiKey } = (await bob.post('/api/user')).json;
    const free = await bob.get('/api/agent/setup');
    expect(free.json.account).to.deep.equal({ planId: 'free', grants: ['text'], models: ['m-5.5'], keys: 1 });
    const { user } = (await bob.get('/api/agent/session')).json;
    const found = await app.state.users.find(user.id);
    await app.state.accounts.grant({
      accountId: found?.accountId ?? '',
      terms: {
        planId: 'token_30m',
        grants: ['text'],
        rpm: 30,
        models: null,
        imageDailyLimit: null,
        durationMs: null,
        budget: null,
      },
      actor: 'operator:test',
    });
    const paid = await bob.get('/api/agent/setup');
    expect(paid.json.account).to.include({ planId: 'token_30m', models: null });
    const codex = paid.json.clients.find(({ id }: { id: string }) => id === 'codex');
    expect(codex.files[0].content).to.contain('model = "m-5.4-mini"');
    for (const { text } of [free, paid]) expect(text).not.to.contain(apiKey.slice(6, 14));
  });

  it('refuses other methods and names the allowed one', async () => {
    for (const path of ['/api/agent/manifest', '/api/agent/plans', '/api/agent/setup']) {
      const answer = await app.request(path, { method: 'POST', body: '{}' });
      expect([answer.status, answer.headers.get('allow')]).to.deep.equal([405, 'GET, HEAD']);
    }
  });
});
