/** A program's way from an address to a paid plan. */

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { OPERATOR, signInAt } from '../../support/accounts/browser-session.js';
import { startSellingGateway } from '../../support/accounts/selling-gateway.js';
import { describeOnStacks, type StackPlace } from '../../support/databases/stacks.js';
import { type GatewayProcess, type HttpAnswer, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';

const JSON_TYPE = { 'content-type': 'application/json' };
/** What other nodes may take to follow; and what a busy machine may add to that. */
const FOLLOW_MS = 5_000;
const SLACK_MS = 3_000;
const POLL_MS = 50;

/** What a program does that knows one address, and reads nothing but JSON. */
function createAgent(gateway: GatewayProcess, answers: string[]) {
  let token: string | undefined;

  async function ask(method: string, url: string, body?: unknown): Promise<HttpAnswer> {
    expect(url.startsWith(gateway.url), url).to.equal(true);
    const answer = await gateway.request(url.slice(gateway.url.length), {
      method,
      headers: { accept: 'application/json', ...JSON_TYPE, ...(token && { authorization: `Bearer ${token}` }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    expect(answer.headers.get('content-type'), answer.text).to.contain('application/json');
    answers.push(answer.text);
    return answer;
  }

  return {
    ask,
    signedInWith(given: string) {
      token = given;
    },
  };
}

const pictures = { id: 'pictures', imageOnly: true, imageDailyLimit: 2, grants: [] };

describeOnStacks('accounts of a gateway process', (stack) => {
  let place: StackPlace;
  let folder: string;
  let environment: Record<string, string>;

  beforeEach(async () => {
    place = await stack.place();
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-accounts-'));
    const plansFile = path.join(folder, 'plans.json');
    await writeFile(plansFile, JSON.stringify({ plans: [pictures] }));
    environment = { ...place.environment, PLANS_FILE: plansFile, IMAGE_DAILY_LIMIT: '1000' };
  });
  afterEach(async () => {
    await place.remove();
    await rm(folder, { recursive: true, force: true });
  });

  onceIt(stack)('take a program from an address to a paid plan and its first answers', async () => {
    const gateway = await startSellingGateway(place.environment);
    const answers: string[] = [];
    try {
      const agent = createAgent(gateway, answers);
      const manifest = (await agent.ask('GET', `${gateway.url}/api/agent/manifest`)).json;
      const { endpoints, auth } = manifest;
      const plans = (await agent.ask('GET', endpoints.plans)).json;
      expect(plans.plans.map(({ id }: { id: string }) => id)).to.include('token_30m');
      const nobody = (await agent.ask('GET', endpoints.session)).json;
      expect(nobody).to.deep.include({ authenticated: false, loginUrl: auth.loginUrl });
      const refused = await agent.ask('POST', endpoints.user, {});
      expect([refused.status, refused.json.loginUrl]).to.deep.equal([401, auth.loginUrl]);

      const device = (await agent.ask('POST', endpoints.deviceAuthorization, { client_id: 'Shipyard' })).json;
      const person = await signInAt(gateway, 'ann@example.com');
      await person.send(device.verification_uri, { form: { user_code: device.user_code, answer: 'approve' } });
      const token = (await agent.ask('POST', endpoints.deviceToken, { device_code: device.device_code })).json;
      agent.signedInWith(token.access_token);

      const session = (await agent.ask('GET', endpoints.session)).json;
      expect(session).to.deep.include({ authenticated: true, kind: 'device', plan: null, keys: { count: 0 } });
      const made = await agent.ask('POST', endpoints.user, { name: 'shipyard' });
      expect(made.status, made.text).to.equal(201);
      const { apiKey } = made.json;
      const setup = (await agent.ask('GET', `${endpoints.setup}?client=curl`)).json;
      expect(setup.account).to.include({ planId: 'free', keys: 1 });
      expect(JSON.stringify(setup)).not.to.contain(apiKey.slice(6, 14));

      const [model] = setup.account.models;
      const use = (address: string, body: object) => {
        const headers = { ...JSON_TYPE, authorization: `Bearer ${apiKey}` };
        return gateway.request(new URL(address).pathname, { method: 'POST', headers, body: JSON.stringify(body) });
      };
      const first = await use(endpoints.responses, { model, input: 'Say hello.' });
      expect(first.status, first.text).to.equal(200);
      expect(first.json).to.include({ object: 'response', status: 'completed' });
      const account = (await agent.ask('GET', endpoints.user)).json;
      expect(account.budget.requests).to.deep.equal({ limit: 50, used: 1, left: 49 });
      expect((await use(endpoints.extract, { url: gateway.link })).json.error.code).to.equal('route_not_allowed');

      const { payment } = (await agent.ask('POST', endpoints.payment, { planId: 'token_30m' })).json;
      expect(payment).to.deep.include({ status: 'pending', amount: gateway.price, currency: gateway.currency });
      const told = await gateway.tell(payment.code, payment.amount);
      expect(told.status, told.text).to.equal(200);
      const paid = (await agent.ask('GET', payment.statusUrl)).json.payment;
      expect(paid).to.include({ code: payment.code, status: 'paid' });
      const document = await use(endpoints.extract, { url: gateway.link });
      expect(document.status, document.text).to.equal(200);
      const image = await use(endpoints.imageGenerations, { model: 'gen-img-2', prompt: 'A tug at dawn' });
      expect(image.status, image.text).to.equal(200);
      const after = (await agent.ask('GET', endpoints.user)).json;
      expect(after.plan).to.include({ id: 'token_30m' });

      const secrets = [apiKey.slice(15), token.access_token, device.device_code, ...(await gateway.secrets())];
      expect(secrets.length).to.be.greaterThan(5);
      for (const secret of secrets) {
        expect(gateway.output().includes(secret), 'a secret is in the log').to.equal(false);
        const shown = answers.filter((text) => text.includes(secret)).length;
        expect(shown).to.equal(secrets.indexOf(secret) < 3 ? 1 : 0);
      }
    } finally {
      await gateway.stop();
    }
  });

  it('reach every node within seconds when they change', async () => {
    const dataFolder = path.join(folder, 'data');
    const [here, there] = await Promise.all([
      startGatewayProcess({ dataFolder, environment }),
      startGatewayProcess({ dataFolder, environment }),
    ]);
    try {
      await signInAt(here, OPERATOR);
      const person = await signInAt(here, 'ann@example.com');
      const cookie = `mediagate=${person.cookie(here.url, 'mediagate')}`;
      const change = async (target: string, body: object = {}) => {
        const headers = { ...JSON_TYPE, cookie, origin: here.url };
        const answer = await here.request(target, { method: 'POST', headers, body: JSON.stringify(body) });
        expect(answer.status, answer.text).to.be.below(300);
        return answer.json;
      };
      const use = async (key: string, target = '/v1/models') => {
        const { status, json } = await there.request(target, { headers: { authorization: `Bearer ${key}` } });
        return json?.error?.code ?? status;
      };
      const follows = async (key: string, expected: number | string, target?: string) => {
        let looks = 0;
        await until(async () => {
          looks += 1;
          return (await use(key, target)) === expected;
        }, POLL_MS);
        // A busy machine looks less often in the same time, and never more often.
        expect(looks).to.be.below((FOLLOW_MS + SLACK_MS) / POLL_MS);
      };
      const command = async (...args: string[]) => {
        const { code, stdout, stderr } = await here.command(...args);
        expect(code, stderr).to.equal(0);
        return JSON.parse(stdout);
      };

      const first = (await change('/api/user')).apiKey;
      expect(await use(first)).to.equal(200);
      const rotated = await change('/api/user/rotate', { overlapHours: 0 });
      expect(await use(rotated.apiKey)).to.equal(200);
      await follows(first, 'expired_api_key');
      const further = (await change('/api/user/keys', { name: 'more' })).apiKey;
      expect(await use(further)).to.equal(200);
      await change(`/api/user/keys/${further.slice(6, 14)}/revoke`);
      await follows(further, 'revoked_api_key');

      const key = rotated.apiKey;
      const [listed] = await command('users', 'list', '--json');
      expect(listed).to.include({ email: 'ann@example.com', plan: 'free', state: 'active' });
      const granted = await command('plans', 'grant', listed.id, 'pictures', '--note', 'a gift', '--json');
      expect(Date.parse(granted.expires_at) - Date.now()).to.be.within(29.9 * 86_400_000, 30 * 86_400_000);
      // Good for images alone from now on.
      await follows(key, 'route_not_allowed');
      expect(await use(key, '/v1/images/jobs/imgjob_none')).to.equal('job_not_found');

      await command('users', 'suspend', listed.account, '--note', 'asked for', '--json');
      await follows(key, 'account_suspended', '/v1/usage');
      expect((await here.request('/api/user', { headers: { cookie } })).status).to.equal(401);
      await command('users', 'resume', listed.id, '--json');
      await follows(key, 200, '/v1/usage');
      const shown = await command('users', 'show', listed.id, '--json');
      const actions = shown.audit.map(({ action }: { action: string }) => action);
      expect(actions).to.include.members(['plan.granted', 'user.suspended', 'user.resumed']);
      expect(shown.audit.find(({ note }: { note: string }) => note === 'a gift').actor).to.match(/^operator:.+/);
      const read = (await here.command('users', 'show', listed.id)).stdout;
      expect(read)
        .to.contain('ann@example.com')
        .and.to.match(/pictures to \d{4}-/)
        .and.to.contain('asked for');
      expect((await here.command('users', 'list')).stdout).to.match(/user_\w+ +acct_\w+ +ann@example\.com/);
      expect((await here.command('users', 'show', 'user_none')).stderr).to.contain('no user with the id user_none');
      expect((await here.command('plans', 'grant', listed.id, 'none')).code).to.equal(2);
    } finally {
      await Promise.all([here.stop(), there.stop()]);
    }
  });
});
