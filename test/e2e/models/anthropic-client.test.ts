/** Anthropic's client through a running gateway: tools, thinking, retries. */

import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import Anthropic, { type ClientOptions } from '@anthropic-ai/sdk';
import { betaTool } from '@anthropic-ai/sdk/helpers/beta/json-schema';
import { expect } from 'chai';
import { snippetsOf } from '../../support/docs/documents.js';
import { type AnthropicUpstream, startAnthropicUpstream } from '../../support/models/anthropic-upstream.js';
import { startTextSite, type TextSite } from '../../support/models/text-site.js';
import { packageRoot } from '../../support/package-root.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { rejection } from '../../support/rejection.js';
import { until } from '../../support/until.js';

const run = promisify(execFile);
const MODEL = 'm-5.4';
const NATIVE_KEY = 'sk-ant-canary-of-the-upstream-0009';
const HI = [{ role: 'user' as const, content: 'Which tugs lie here?' }];
const ASKED = { model: MODEL, max_tokens: 500, messages: HI };

describe("Anthropic's client before a running gateway", () => {
  let site: TextSite;
  let native: AnthropicUpstream;

  before(async () => {
    native = await startAnthropicUpstream({ apiKey: NATIVE_KEY });
    const connected = {
      ANTHROPIC_UPSTREAM_URL: native.url,
      ANTHROPIC_UPSTREAM_KEY: NATIVE_KEY,
      ANTHROPIC_UPSTREAM_MODELS: 'claude-vendor-9, claude-other',
    };
    site = await startTextSite({ environment: { MESSAGES_ENABLED: 'true', METRICS_PUBLIC: 'on', ...connected } });
  });
  beforeEach(() => site.upstream.reset());
  after(async () => {
    await site.close();
    await native.close();
  });

  const clientOf = (options: ClientOptions = {}) =>
    new Anthropic({ apiKey: site.key, baseURL: site.gateway.url, maxRetries: 0, ...options });

  it('runs tools as an agent does, and counts every turn once', async () => {
    const { key } = await site.makePlanKey('token_30m');
    const places: string[] = [];
    const weather = betaTool({
      name: 'weather',
      description: 'Weather of a place.',
      inputSchema: { type: 'object', properties: { place: { type: 'string' } }, required: ['place'] },
      run({ place }) {
        places.push(place);
        return 'gulls and drizzle';
      },
    });
    const final = await clientOf({ apiKey: key }).beta.messages.toolRunner({
      ...ASKED,
      stream: false,
      system: [{ type: 'text', text: 'You are an agent.', cache_control: { type: 'ephemeral' } }],
      thinking: { type: 'adaptive' },
      metadata: { user_id: JSON.stringify({ device: 'd'.repeat(64), session: 's' }) },
      betas: ['context-management-2025-06-27'],
      tools: [weather],
    });
    expect(places).to.deep.equal(['Ostend at dawn']);
    expect(final.content[0]).to.include({ type: 'text', text: 'You said: gulls and drizzle' });
    const asked = site.upstream.requests;
    expect(asked.map(({ path: address }) => address)).to.deep.equal(['/v1/responses', '/v1/responses']);
    // The model gets to read all of it each time, whatever the client counts on being kept.
    const [first, second] = asked.map(({ members }) => members);
    expect(second).to.deep.include({ instructions: 'You are an agent.', tools: first?.tools });
    expect(second?.input).to.have.length(3);
    const used = asked.map(({ usage }) => (usage?.input ?? 0) + (usage?.output ?? 0)).reduce((sum, one) => sum + one);
    const { budget, total, days } = await until(async () => {
      const { json } = await site.gateway.request('/v1/usage', { headers: { authorization: `Bearer ${key}` } });
      return json.total.requests === 2 && json.budget.tokens.reserved === 0 && json;
    });
    expect(budget.tokens.used).to.equal(used);
    expect(total).to.include({ requests: 2, failed: 0, estimated: 0 });
    // The client first asks for a conversation that is kept here. This refusal has a row of its own, two seconds later.
    const answered = days[0].models.filter(({ requests }: { requests: number }) => requests > 0);
    expect(answered).to.have.length(1, JSON.stringify(answered));
    expect(answered[0]).to.include({ route: '/v1/messages', requests: 2 });
    const { text: figures } = await site.gateway.request('/metrics');
    expect(figures).to.match(/^mediagate_http_requests_total\{[^}]*route="\/v1\/messages"[^}]*\} 2$/m);
  });

  it('has the models of a server with its format by three settings, with thinking and caching', async () => {
    const client = clientOf();
    const body = {
      model: 'claude-vendor-9',
      max_tokens: 300,
      messages: HI,
      cache_control: { type: 'ephemeral' as const },
    };
    const { content, usage } = await client.messages.stream({ ...body, thinking: { type: 'adaptive' } }).finalMessage();
    expect(content.map(({ type }) => type)).to.deep.equal(['thinking', 'text']);
    expect(usage.cache_read_input_tokens).to.equal(300);
    expect(native.requests.at(-1)?.body).to.include({ model: 'claude-vendor-9', stream: true });
    expect(native.requests.at(-1)?.body.cache_control).to.deep.equal({ type: 'ephemeral' });
    const listed = (await client.models.list({ limit: 100 })).data.map(({ id }) => id);
    expect(listed).to.include.members(['claude-vendor-9', 'claude-other', MODEL]);
    const { choices } = await site.openai().chat.completions.create({ model: 'claude-other', messages: HI });
    expect(choices[0]?.message.content).to.equal('You said: Which tugs lie here?');
    expect(site.upstream.requests).to.have.length(0);
  });

  it('retries temporary errors after the stated wait', async () => {
    const statuses: number[] = [];
    const counting: typeof fetch = async (...given) => {
      const answer = await fetch(...given);
      statuses.push(answer.status);
      return answer;
    };
    const patient = clientOf({ maxRetries: 2, fetch: counting });
    // More tries than the gateway has of its own.
    const limited = { does: 'error', status: 429, headers: { 'retry-after-ms': '300' } } as const;
    site.upstream.behave([limited, limited, limited]);
    expect((await patient.messages.create(ASKED)).stop_reason).to.equal('end_turn');
    expect(await rejection(patient.messages.create({ ...ASKED, model: 'stt-large-v3' }))).to.include({
      status: 400,
      type: 'invalid_request_error',
    });
    expect(statuses).to.deep.equal([429, 200, 400]);
    const counted = rejection(patient.messages.countTokens({ model: 'stt-large-v3', messages: HI }));
    expect(await counted).to.be.instanceOf(Anthropic.BadRequestError);
  });

  it("uses the models and routes of the key's plan", async () => {
    const { key } = await site.makePlanKey('free');
    const free = clientOf({ apiKey: key });
    expect(await rejection(free.messages.create(ASKED))).to.be.instanceOf(Anthropic.PermissionDeniedError);
    expect((await free.messages.create({ ...ASKED, model: 'm-5.5' })).model).to.equal('m-5.5');
  });

  describe('without a setting', () => {
    let gateway: GatewayProcess;
    let folder: string;

    before(async () => {
      folder = await mkdtemp(path.join(tmpdir(), 'mediagate-snippets-'));
    });
    afterEach(() => gateway.stop());
    after(() => rm(folder, { recursive: true, force: true }));

    it('gets the disabled routes as an error that it does not retry', async () => {
      gateway = await startGatewayProcess();
      const { key } = await gateway.makeKey({ grants: ['text'] });
      const client = new Anthropic({ apiKey: key, baseURL: gateway.url });
      for (const work of [client.messages.create(ASKED), client.messages.countTokens({ model: MODEL, messages: HI })]) {
        const refusal = (await rejection(work)) as InstanceType<typeof Anthropic.APIError>;
        expect(refusal).to.be.instanceOf(Anthropic.PermissionDeniedError);
        expect(refusal.apiMessage).to.equal(
          'The messages route is disabled. Use /v1/responses or /v1/chat/completions.',
        );
      }
    });

    it('gets echoes by the lines of the client guide', async () => {
      gateway = await startGatewayProcess({ environment: { MESSAGES_ENABLED: 'on' } });
      const { key } = await gateway.makeKey({ grants: ['text'] });
      const [code = '', ...others] = snippetsOf('docs/guides/clients.md', 'ts', "## Anthropic's format");
      expect(others).to.deep.equal([]);
      const script = path.join(folder, 'message.mts');
      await writeFile(script, code.replaceAll('http://127.0.0.1:8787', gateway.url));
      await symlink(path.join(packageRoot, 'node_modules'), path.join(folder, 'node_modules'));
      const env = { ...process.env, MEDIAGATE_API_KEY: key };
      const { stdout } = await run(process.execPath, [script], { cwd: folder, env });
      expect(stdout).to.contain('You said: Ahoy!');
      const [settings = ''] = snippetsOf('docs/guides/clients.md', 'sh', '## Claude Code');
      const asked = settings.replaceAll('http://127.0.0.1:8787', gateway.url).replace(
        /^claude$/m,
        `for model in "$ANTHROPIC_MODEL" "$ANTHROPIC_DEFAULT_HAIKU_MODEL"; do
          curl -s "$ANTHROPIC_BASE_URL/v1/messages" -H "Authorization: Bearer $ANTHROPIC_AUTH_TOKEN" \\
            -H 'anthropic-version: 2023-06-01' -H 'Content-Type: application/json' \\
            -d '{"model":"'$model'","max_tokens":50,"messages":[{"role":"user","content":"Ahoy!"}]}'
        done`,
      );
      const agent = await run('bash', ['-e', '-c', asked], { env });
      expect(agent.stdout.match(/You said: Ahoy!/g)).to.have.length(2);
      const client = new Anthropic({ apiKey: key, baseURL: gateway.url });
      const { data, response } = await client.messages.create({ ...ASKED, max_tokens: 3 }).withResponse();
      expect(response.headers.get('x-mediagate-stand-in')).to.equal('echo_text');
      expect(data.usage.output_tokens).to.be.greaterThan(0);
      const streamed = await client.messages.stream({ ...ASKED, max_tokens: 16 }).finalMessage();
      expect(streamed.stop_reason).to.equal('max_tokens');
      const { input_tokens: tokens } = await client.messages.countTokens({ model: MODEL, messages: HI });
      expect(tokens).to.equal(streamed.usage.input_tokens);
    });
  });
});
