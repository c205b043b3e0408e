/**
 * Whole conversations of the programs that people use as agents, each as its maker publishes it: Claude Code, Codex and
 * the inspector of the protocol. Model and tools are those of one gateway. The programs come from the package registry
 * into a temporary folder, or from a folder that AGENT_PROGRAMS names; without both, the tests are skipped.
 */

import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { type AgentSite, LAST_WORDS, startAgentSite, type Turn, VIDEO } from '../../support/agents/agent-site.js';

const run = promisify(execFile);
const PACKAGES = [
  '@anthropic-ai/claude-code@2.1.332',
  '@openai/codex@0.171.0',
  '@modelcontextprotocol/inspector@2.12.0',
];
const RUN_MS = 180_000;
const TURNS: readonly Turn[] = [
  ['get_link_data', { url: VIDEO, fields: ['common', 'transcript'] }],
  ['ask_link', { url: VIDEO, question: 'What is it about?' }],
  ['generate_image', { prompt: 'A tug at dawn', size: '1024x1024' }],
];
const TASK = 'What does the video say? Draw it.';

describe('programs of agents', function () {
  this.timeout(900_000);
  let folder: string;
  let programs: string;
  let site: AgentSite;

  before(async function () {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-agents-'));
    programs = process.env.AGENT_PROGRAMS ?? folder;
    if (!existsSync(path.join(programs, 'node_modules'))) {
      await writeFile(path.join(folder, 'package.json'), '{}');
      const installed = await run('npm', [
        'install',
        '--no-audit',
        '--no-fund',
        '--prefix',
        programs,
        ...PACKAGES,
      ]).catch(() => undefined);
      if (!installed) this.skip();
    }
  });
  beforeEach(async () => {
    site = await startAgentSite(TURNS);
  });
  afterEach(() => site?.close());
  after(() => rm(folder, { recursive: true, force: true }));

  /** Runs a program in an empty home, which is also its project. */
  async function runProgram(name: string, args: readonly string[], environment: Record<string, string> = {}) {
    const home = await mkdtemp(path.join(folder, 'home-'));
    const file = path.join(programs, 'node_modules', '.bin', name);
    const env = { PATH: process.env.PATH, HOME: home, ...environment };
    const start = () => {
      const started = run(file, args, { cwd: home, env, timeout: RUN_MS, maxBuffer: 64 * 1024 * 1024 });
      // They would wait for more input.
      started.child.stdin?.end();
      return started.catch(({ message, stdout }) => {
        throw new Error(`${message}\n${stdout}`);
      });
    };
    return { home, start };
  }

  function expectConversation(printed: string): void {
    const [data = '', answer = '', picture = ''] = site.outputs();
    expect(data, 'get_link_data').to.contain('outside').and.to.contain('Tug');
    expect(answer, 'ask_link').to.contain('It is about tugs.');
    // Claude Code gives the model the picture, Codex its address.
    expect(picture.slice(0, 2_000), 'generate_image').to.match(/\/v1\/images\/files\/|data:image\//);
    expect(printed).to.contain(LAST_WORDS);
  }

  it('Claude Code asks what a video says and gets a picture', async () => {
    const { url, apiKey } = site.gateway;
    const config = {
      mcpServers: { mediagate: { type: 'http', url: `${url}/mcp`, headers: { Authorization: `Bearer ${apiKey}` } } },
    };
    const tools = TURNS.map(([name]) => `mcp__mediagate__${name}`).join();
    const options = ['--mcp-config', JSON.stringify(config), '--strict-mcp-config', '--allowedTools', tools];
    const environment = {
      ANTHROPIC_BASE_URL: url,
      ANTHROPIC_AUTH_TOKEN: apiKey,
      ANTHROPIC_MODEL: 'm-5.5',
      ANTHROPIC_SMALL_FAST_MODEL: 'm-5.5',
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    };
    const { start } = await runProgram('claude', ['-p', TASK, '--model', 'm-5.5', ...options], environment);
    const { stdout } = await start();
    expectConversation(stdout);
  });

  it('Codex asks what a video says and gets a picture', async () => {
    const { url, apiKey } = site.gateway;
    const { home, start } = await runProgram(
      'codex',
      ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', TASK],
      { MEDIAGATE_API_KEY: apiKey },
    );
    await mkdir(path.join(home, '.codex'));
    const config = [
      'model = "m-5.5"',
      'model_provider = "mediagate"',
      '[model_providers.mediagate]',
      'name = "mediagate"',
      `base_url = "${url}/v1"`,
      'env_key = "MEDIAGATE_API_KEY"',
      'wire_api = "responses"',
      '[mcp_servers.mediagate]',
      `url = "${url}/mcp"`,
      'bearer_token_env_var = "MEDIAGATE_API_KEY"',
    ];
    await writeFile(path.join(home, '.codex', 'config.toml'), config.join('\n'));
    const { stdout } = await start();
    expectConversation(stdout);
  });

  it('the inspector lists tools and calls one', async () => {
    const { url, apiKey } = site.gateway;
    const common = ['--cli', `${url}/mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${apiKey}`];
    const listed = await runProgram('mcp-inspector', [...common, '--method', 'tools/list']);
    expect(JSON.parse((await listed.start()).stdout).tools.map(({ name }: { name: string }) => name)).to.include(
      'ask_link',
    );
    const call = ['--method', 'tools/call', '--tool-name', 'get_link_data', '--tool-arg', `url=${VIDEO}`];
    const called = await runProgram('mcp-inspector', [...common, ...call]);
    const { structuredContent } = JSON.parse((await called.start()).stdout);
    expect(structuredContent).to.include({ content_from_outside: true, platform: 'vidsite' });
  });
});
