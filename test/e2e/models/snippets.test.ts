/** Model requests of the guides, run as they are. */

import { execFile, spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { soundSeconds } from '../../support/audio/vendor-sounds.js';
import { countWordErrors } from '../../support/audio/word-errors.js';
import { snippetsOf } from '../../support/docs/documents.js';
import { readEvents } from '../../support/models/event-reading.js';
import { packageRoot } from '../../support/package-root.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';

const run = promisify(execFile);
const PAGES = ['guides/models', 'guides/audio', 'guides/clients', 'operate/keys-and-budgets'].map(
  (name) => `docs/${name}.md`,
);
const ADDRESS = 'http://127.0.0.1:8787';
const ECHO = /echo.*You said: Ahoy!/;

describe('model requests of the guides', () => {
  let folder: string;
  let gateway: GatewayProcess;
  let key: string;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-snippets-'));
    // As a newcomer starts it, and with the key that is shown then.
    gateway = await startGatewayProcess({ firstRun: true });
    key = /Bearer (sk-mg-[\w-]+)/.exec(gateway.output())?.[1] ?? '';
  });
  after(async () => {
    await gateway.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** One snippet, which is the only one of its language that says this. */
  function snippet(language: string, says: string): string {
    const found = PAGES.flatMap((page) => snippetsOf(page, language)).filter((code) => code.includes(says));
    expect(found, `${language} with ${says}`).to.have.length(1);
    return (found[0] ?? '').replaceAll(ADDRESS, gateway.url).replaceAll('sk-mg-…', key);
  }

  async function inShell(says: string): Promise<string> {
    // Each block may be pasted into a shell in which the first one was.
    const script = `BASE=${gateway.url} KEY=${key}\n${snippet('sh', says)}`;
    const { stdout } = await run('bash', ['-e', '-o', 'pipefail', '-c', script], { cwd: folder });
    return stdout;
  }

  it('curl: list, chat and response', async () => {
    const said = await inShell('"stream":true');
    expect(said).to.contain('{"object":"list","data":[{"id":"m-5.5","object":"model","created":1781481600,');
    expect(said.trim()).to.contain('data: [DONE]');
    const whole = JSON.parse(said.slice(said.lastIndexOf('[DONE]') + '[DONE]'.length));
    expect(whole).to.include({ object: 'response', status: 'completed', model: 'm-5.4-mini' });
    expect(whole.output[0].content[0].text).to.match(ECHO);
  });

  it('curl: sound effects, and a spoken sentence that is transcribed', async () => {
    // Engines on a busy machine take their time.
    const subtitles = await inShell('/v1/audio/voice-changer');
    const [, times = '', heard = ''] = subtitles.trim().split('\n');
    expect(times).to.match(/^00:00:00,\d{3} --> 00:00:0\d,\d{3}$/);
    const { errors } = countWordErrors('The quick brown fox jumps over the lazy dog.', heard);
    expect(errors, heard).to.be.below(3);
    for (const [name, seconds] of Object.entries({ 'fox.mp3': 3, 'deep.mp3': 3, 'rain.mp3': 4 })) {
      expect(await soundSeconds(await readFile(path.join(folder, name))), name).to.be.closeTo(seconds, 1);
    }
  });

  it("Node: the vendor's package", async () => {
    const script = path.join(folder, 'chat.mts');
    await writeFile(script, snippet('ts', 'openai'));
    await symlink(path.join(packageRoot, 'node_modules'), path.join(folder, 'node_modules'));
    const env = { ...process.env, MEDIAGATE_API_KEY: key };
    const { stdout } = await run(process.execPath, [script], { cwd: folder, env });
    expect(stdout.match(/You said: Ahoy!/g)).to.have.length(2);
  });

  it('Python: the request of its package', async function () {
    const script = path.join(folder, 'chat.py');
    const code = snippet('python', 'openai');
    await writeFile(script, code);
    const checked = spawnSync('python3', ['-m', 'py_compile', script]);
    if (checked.error) this.skip();
    expect(String(checked.stderr)).to.equal('');
    const base = /base_url="([^"]+)"/.exec(code)?.[1] ?? '';
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'application/json',
      'x-stainless-lang': 'python',
    };
    const messages = [{ role: 'user', content: 'Ahoy!' }];
    const body = JSON.stringify({ messages, model: 'm-5.5', stream: true });
    const streamed = await fetch(`${base}/chat/completions`, { method: 'POST', headers, body });
    const { events } = await readEvents(streamed);
    expect(events.at(-1)?.data).to.equal('[DONE]');
    // The snippet takes the first choice of every chunk.
    for (const { data } of events.slice(0, -1)) expect(JSON.parse(data).choices).to.have.length(1);
    const second = JSON.stringify({ input: 'Ahoy!', model: 'm-5.4-mini' });
    const whole = await fetch(`${base}/responses`, { method: 'POST', headers, body: second });
    expect(((await whole.json()) as { status: string }).status).to.equal('completed');
  });

  it("a coding agent's configuration: the request of an agent", async () => {
    const settings = Object.fromEntries(
      [...snippet('toml', 'model_provider').matchAll(/^(\w+) = "([^"]*)"$/gm)].map(([, name, value]) => [name, value]),
    );
    expect(settings).to.include({ wire_api: 'responses', env_key: 'MEDIAGATE_API_KEY', model_provider: 'mediagate' });
    const answer = await fetch(`${settings.base_url}/responses`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        accept: 'text/event-stream',
        session_id: 'b1946ac9-2492-4d23-9a3e-0b5f5a9f4a10',
      },
      body: JSON.stringify({
        model: settings.model,
        instructions: 'You are a coding agent.',
        input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Ahoy!' }] }],
        tools: [
          { type: 'function', name: 'shell', description: 'Runs.', strict: false, parameters: { type: 'object' } },
          { type: 'custom', name: 'apply_patch', description: 'Edits.', format: { type: 'text' } },
          { type: 'web_search' },
        ],
        tool_choice: 'auto',
        parallel_tool_calls: false,
        reasoning: { effort: settings.model_reasoning_effort, summary: 'auto' },
        store: false,
        stream: true,
        include: ['reasoning.encrypted_content'],
        prompt_cache_key: 'b1946ac9-2492-4d23-9a3e-0b5f5a9f4a10',
      }),
    });
    const { events, complaints } = await readEvents(answer);
    expect(complaints).to.deep.equal([]);
    const types = events.map(({ event }) => event);
    expect([types[0], types.at(-1)]).to.deep.equal(['response.created', 'response.completed']);
    const done = events.find(({ event }) => event === 'response.output_item.done');
    expect(JSON.parse(done?.data ?? '{}').item.content[0].text).to.match(ECHO);
    const { response } = JSON.parse(events.at(-1)?.data ?? '{}');
    expect(response.id).to.match(/^resp_/);
    expect(response.usage.input_tokens_details).to.have.property('cached_tokens');
    expect(response.usage.output_tokens_details).to.have.property('reasoning_tokens');
  });

  it("another coding agent's configuration: the request of its package", async () => {
    const { model, provider } = JSON.parse(snippet('json', 'opencode.ai/config.json'));
    const [id = '', name = ''] = model.split('/');
    const { options, models } = provider[id];
    expect(models).to.have.property(name);
    expect(options.apiKey).to.equal('{env:MEDIAGATE_API_KEY}');
    const answer = await fetch(`${options.baseURL}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: name,
        max_tokens: 32_000,
        messages: [
          { role: 'system', content: 'You are a coding agent.' },
          { role: 'user', content: 'Ahoy!' },
        ],
        tools: [{ type: 'function', function: { name: 'read', parameters: { type: 'object' } } }],
        tool_choice: 'auto',
        stream: true,
        stream_options: { include_usage: true },
      }),
    });
    const { events, complaints } = await readEvents(answer);
    expect(complaints).to.deep.equal([]);
    expect(events.at(-1)?.data).to.equal('[DONE]');
    const chunks = events.slice(0, -1).map(({ data }) => JSON.parse(data));
    expect(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join('')).to.match(ECHO);
    expect(chunks.at(-1)?.usage.completion_tokens).to.be.greaterThan(0);
  });

  it('curl: a repeated speech request that is made once', async () => {
    expect((await inShell('Idempotency-Key: dog-1')).trim()).to.equal('Idempotency-Replayed: true');
  });

  it('print the usage of the key, by HTTP and on the command line', async () => {
    const usage = JSON.parse(await inShell('/v1/usage"'));
    expect(usage).to.include({ object: 'usage', budget: null });
    expect(usage.total.requests).to.be.greaterThan(5);
    expect(usage.total).to.include({ failed: 0 });
    const estimated = usage.days[0].models.filter((one: { estimated: number }) => one.estimated > 0);
    // Engines of our own do not tell what they used.
    for (const { route } of estimated) expect(route).to.match(/^\/v1\/audio\//);
    const id = key.slice('sk-mg-'.length).split('-')[0] ?? '';
    const table = await gateway.command('usage', '--from', usage.to, '--key', id);
    expect(table.stdout, table.stderr).to.match(/\/v1\/audio\/speech +tts_v3 +2 /);
  });
});
