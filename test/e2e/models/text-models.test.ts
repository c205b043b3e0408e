/** Text models of a running gateway, with and without an upstream. */

import { expect } from 'chai';
import OpenAI from 'openai';
import { startTextUpstream, type TextUpstream } from '../../support/models/text-upstream.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';

const MODELS = [
  'm-5.5',
  'm-5.4',
  'm-5.4-mini',
  'm-5.3-code',
  'm-5.2-code',
  'm-5.2',
  'm-5.1-code-max',
  'm-5.1-code-mini',
  'm-5-code',
  'm-5-code-mini',
  'm-5.3-code-spark',
  'code-auto-review',
];
const KEY = 'sk-canary-of-the-upstream-0003';

describe('text models of a running gateway', () => {
  let gateway: GatewayProcess;
  let upstream: TextUpstream;
  before(async () => {
    upstream = await startTextUpstream({ apiKey: KEY });
  });
  beforeEach(() => upstream.reset());
  after(() => upstream.close());

  const entries = async () => (await gateway.request('/health')).json.checks.plugins.entries as { id: string }[];

  async function client(): Promise<OpenAI> {
    const { key } = await gateway.makeKey({ grants: ['text'] });
    return new OpenAI({ apiKey: key, baseURL: `${gateway.url}/v1`, maxRetries: 0 });
  }

  describe('without an upstream', () => {
    before(async () => {
      gateway = await startGatewayProcess({ firstRun: true });
    });
    after(() => gateway.stop());

    it('are mocks, and are announced in one notice', async () => {
      expect(await entries()).to.deep.include({ id: 'echo_text', state: 'ready', entries: MODELS, stand_in: true });
      expect(gateway.output()).to.match(/echo_text +ready +12 models \(mock\)\n/);
      expect(gateway.output()).to.match(/openai_text +disabled\n/);
      expect(
        Math.max(
          ...gateway
            .output()
            .split('\n')
            .map((line) => line.length),
        ),
      ).to.be.below(120);
      const table = (await gateway.command('plugins')).stdout;
      expect(table.match(/echo_text/g)).to.have.length(1);
      expect(table).to.contain(MODELS.join(', '));
      const doctor: { name: string; detail: string }[] = JSON.parse((await gateway.command('doctor', '--json')).stdout);
      expect(doctor.find(({ name }) => name === 'plugins')?.detail).to.include(
        `echo_text (mock for ${MODELS.join(', ')})`,
      );
    });

    it('repeat the last message to the SDKs, marked as a mock', async () => {
      const openai = await client();
      const { data, response } = await openai.chat.completions
        .create({ model: 'm-5.5', messages: [{ role: 'user', content: 'Ahoy!' }], reasoning_effort: 'high' })
        .withResponse();
      expect(response.headers.get('x-mediagate-stand-in')).to.equal('echo_text');
      expect(data.model).to.equal('m-5.5');
      expect(data.choices[0]?.message.content).to.match(/echo.*You said: Ahoy!$/);
      const input = [{ role: 'user' as const, content: 'Ahoy!' }];
      const stream = openai.responses.stream({ model: 'm-5.4-mini', input });
      const final = await stream.finalResponse();
      expect(final.output_text).to.equal(data.choices[0]?.message.content);
      expect(final.usage?.output_tokens).to.equal(data.usage?.completion_tokens);
      expect((await openai.responses.retrieve(final.id)).output_text).to.equal(final.output_text);
      expect((await openai.responses.inputItems.list(final.id)).data).to.have.length(1);
      const next = await openai.responses.create({ model: 'm-5.4-mini', input, previous_response_id: final.id });
      expect(next.usage?.input_tokens_details.cached_tokens).to.equal(final.usage?.total_tokens);
      const asked = { model: 'm-5.4-mini', input };
      expect((await openai.responses.inputTokens.count(asked)).input_tokens).to.equal(final.usage?.input_tokens);
      const compacting = await openai.responses.compact(asked).catch((error) => error);
      expect(compacting).to.be.instanceOf(OpenAI.BadRequestError).and.to.include({ code: 'model_not_supported' });
      await openai.responses.delete(final.id);
      expect(await openai.responses.retrieve(final.id).catch((error) => error)).to.be.instanceOf(OpenAI.NotFoundError);
    });
  });

  const start = async (more: Record<string, string> = {}) => {
    const environment = { TEXT_UPSTREAM_URL: upstream.baseUrl, TEXT_UPSTREAM_KEY: KEY, ...more };
    gateway = await startGatewayProcess({ environment, firstRun: true });
  };

  describe('with an upstream', () => {
    before(() => start());
    after(() => gateway.stop());

    it('are requested under its own names, which clients do not see', async () => {
      expect(await entries()).to.deep.include({ id: 'openai_text', state: 'ready' });
      expect((await entries()).map(({ id }) => id)).not.to.include('echo_text');
      expect(gateway.output())
        .to.match(/openai_text +ready +12 models\n/)
        .and.not.to.match(/openai_text +disabled/);
      const openai = await client();
      for (const model of MODELS) {
        const { data, response } = await openai.responses.create({ model, input: 'x' }).withResponse();
        expect(data.model).to.equal(model);
        expect(response.headers.get('x-mediagate-stand-in')).to.equal(null);
      }
      const asked = upstream.requests.map(({ members }) => String(members.model));
      expect(new Set(asked).size, 'each has a name of its own there').to.equal(MODELS.length);
      for (const name of asked) expect(MODELS).not.to.include(name);
    });

    it('report errors of the caller, and hide those of the operator', async () => {
      const openai = await client();
      const ask = () => openai.chat.completions.create({ model: 'm-5.5', messages: [] }).catch((error) => error);
      upstream.behave([
        { does: 'error', status: 400, code: 'context_length_exceeded', param: 'messages', message: 'Too long.' },
        { does: 'error', status: 401, message: `Incorrect API key provided: ${KEY}` },
        { does: 'error', status: 429, headers: { 'retry-after': '20' } },
      ]);
      const mine = await ask();
      expect(mine).to.be.instanceOf(OpenAI.BadRequestError);
      expect([mine.code, mine.param, mine.error.message]).to.deep.equal([
        'context_length_exceeded',
        'messages',
        'Too long.',
      ]);
      const theirs = await ask();
      expect([theirs.status, theirs.code]).to.deep.equal([502, 'upstream_auth_error']);
      const limited = await ask();
      expect(limited).to.be.instanceOf(OpenAI.RateLimitError);
      expect(limited.headers.get('retry-after')).to.equal('20');
      expect(gateway.output()).not.to.include(KEY);
    });

    it('are aborted when the client disconnects', async () => {
      const openai = await client();
      upstream.behave([{ does: 'answer', stall: { events: 3 } }]);
      const leaving = new AbortController();
      const seen = upstream.next();
      const stream = await openai.chat.completions.create(
        { model: 'm-5.5', messages: [], stream: true },
        { signal: leaving.signal },
      );
      for await (const _chunk of stream) break;
      leaving.abort();
      expect((await (await seen).ended).whole).to.equal(false);
    });
  });

  describe('with an upstream and names of models', () => {
    afterEach(() => gateway.stop());

    it('make embeddings and rate texts under the configured names', async () => {
      await start({
        EMBEDDING_MODELS: 'text-embedding-3-small, BAAI/bge-m3:q4',
        MODERATION_MODELS: 'omni-moderation-latest',
      });
      const openai = await client();
      const input = ['a tug', 'a buoy'];
      for (const model of ['text-embedding-3-small', 'BAAI/bge-m3:q4']) {
        const { data, ...answer } = await openai.embeddings.create({ model, input });
        expect([answer.model, data.length]).to.deep.equal([model, 2]);
      }
      await openai.moderations.create({ model: 'omni-moderation-latest', input });
      expect(upstream.requests.map(({ path, members }) => [path, members.model])).to.deep.equal([
        ['/v1/embeddings', 'text-embedding-3-small'],
        ['/v1/embeddings', 'BAAI/bge-m3:q4'],
        ['/v1/moderations', 'omni-moderation-latest'],
      ]);
    });

    it("include the server's own names if they are configured", async () => {
      await start({
        TEXT_UPSTREAM_MODEL: 'local-1',
        TEXT_UPSTREAM_MODELS: 'gpt-5.5,qwen3:32b, meta-llama/Llama-3.1-8B',
      });
      const openai = await client();
      const own = ['gpt-5.5', 'qwen3:32b', 'meta-llama/Llama-3.1-8B'];
      const listed = new Set((await openai.models.list()).data.map(({ id }) => id));
      for (const model of [...own, ...MODELS]) expect(listed.has(model), model).to.equal(true);
      for (const model of [...own, 'm-5.5']) {
        const answer = await openai.chat.completions.create({ model, messages: [{ role: 'user', content: 'x' }] });
        expect(answer.model).to.equal(model);
      }
      expect(upstream.requests.map(({ members }) => members.model)).to.deep.equal([...own, 'local-1']);
      expect((await openai.models.retrieve('meta-llama/Llama-3.1-8B')).id).to.equal('meta-llama/Llama-3.1-8B');
      expect(gateway.output()).to.match(/openai_text +ready +4 models\n/);
      // The first request that the start suggests.
      expect(gateway.output()).to.contain('"model":"local-1"');
    });

    it('are all the same model if the upstream has only one', async () => {
      await start({ TEXT_UPSTREAM_MODEL: 'local-1' });
      const openai = await client();
      for (const model of ['m-5.5', 'm-5-code']) await openai.responses.create({ model, input: 'x' });
      expect(upstream.requests.map(({ members }) => members.model)).to.deep.equal(['local-1', 'local-1']);
    });
  });
});
