/**
 * Whole conversations of the programs that people use as agents, each as its maker publishes it: Claude Code, Codex and
 * the inspector of the protocol. Model and tools are those of one gateway. The programs come from the package registry
 * into a temporary folder, or from a folder that AGENT_PROGRAMS names; without both, the tests are skipped.
 */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { answerIn } from '../../http/identity/agent.js';
import { type AgentSite, LAST_WORDS, startAgentSite, type Turn, VIDEO } from '../../support/agents/agent-site.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import { launchPageBrowser } from '../../support/browser/page-browser.js';
import { until } from '../../support/until.js';

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
/** A terminal prints it as a link, with control characters around it. */
const ADDRESS = /https?:\/\/[\w.:]+\/oauth\/authorize\?[\w=&%.~+-]+/;
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

  const makeHome = () => mkdtemp(path.join(folder, 'home-'));

  /** Runs a program to its end, in a home that is also its project. */
  async function runIn(home: string, name: string, args: readonly string[], more: Record<string, string> = {}) {
    const file = path.join(programs, 'node_modules', '.bin', name);
    const env = { PATH: process.env.PATH, HOME: home, ...more };
    const started = run(file, args, { cwd: home, env, timeout: RUN_MS, maxBuffer: 64 * 1024 * 1024 });
    // They would wait for more input.
    started.child.stdin?.end();
    const { stdout } = await started.catch(({ message, stdout: printed }) => {
      throw new Error(`${message}\n${printed}`);
    });
    return stdout;
  }

  /** Signs a program in by the address that it prints, as its user does in the browser. */
  async function signIn(home: string, name: string): Promise<void> {
    const file = path.join(programs, 'node_modules', '.bin', name);
    const env = { PATH: process.env.PATH, HOME: home };
    // In a terminal of its own, which is wide enough for the address.
    const command = `stty cols 4000; exec ${file} mcp login --no-browser mediagate`;
    const program = spawn('script', ['-qec', command, '/dev/null'], { cwd: home, env: { ...env, TERM: 'dumb' } });
    let printed = '';
    for (const stream of [program.stdout, program.stderr]) stream.on('data', (bytes) => (printed += String(bytes)));
    const ended = once(program, 'close');
    try {
      const address = await until(() => ADDRESS.exec(printed)?.[0]);
      const back = await answerIn(await site.signIn('ann@example.com'), address, 'allow');
      program.stdin.write(`${back.href}\r`);
      const [code] = await ended;
      expect(code, printed).to.equal(0);
    } finally {
      program.kill();
    }
  }

  function expectConversation(printed: string): void {
    const [data = '', answer = '', picture = ''] = site.outputs();
    expect(data, 'get_link_data').to.contain('outside').and.to.contain('Tug');
    expect(answer, 'ask_link').to.contain('It is about tugs.');
    // Claude Code gives the model the picture, Codex its address.
    expect(picture.slice(0, 2_000), 'generate_image').to.match(/\/v1\/images\/files\/|data:image\//);
    expect(printed).to.contain(LAST_WORDS);
  }

  const claudeModel = ({ url, apiKey }: AgentSite['gateway']) => ({
    ANTHROPIC_BASE_URL: url,
    ANTHROPIC_AUTH_TOKEN: apiKey,
    ANTHROPIC_MODEL: 'm-5.5',
    ANTHROPIC_DEFAULT_HAIKU_MODEL: 'm-5.5',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  });
  const allowed = ['--allowedTools', TURNS.map(([name]) => `mcp__mediagate__${name}`).join()];

  it('Claude Code asks what a video says and gets a picture, with a key', async () => {
    const { url, apiKey } = site.gateway;
    const headers = { Authorization: `Bearer ${apiKey}` };
    const config = { mcpServers: { mediagate: { type: 'http', url: `${url}/mcp`, headers } } };
    const options = ['--mcp-config', JSON.stringify(config), '--strict-mcp-config', ...allowed];
    expectConversation(await runIn(await makeHome(), 'claude', ['-p', TASK, ...options], claudeModel(site.gateway)));
  });

  it('Claude Code signs in by the address alone', async () => {
    const home = await makeHome();
    await runIn(home, 'claude', ['mcp', 'add', '-s', 'user', '-t', 'http', 'mediagate', `${site.gateway.url}/mcp`]);
    await signIn(home, 'claude');
    expectConversation(await runIn(home, 'claude', ['-p', TASK, ...allowed], claudeModel(site.gateway)));
  });

  async function codexHome(more: readonly string[] = []): Promise<string> {
    const { url } = site.gateway;
    const home = await makeHome();
    const config = [
      'model = "m-5.5"',
      'model_provider = "mediagate"',
      // There is no keyring here.
      'mcp_oauth_credentials_store = "file"',
      '[model_providers.mediagate]',
      'name = "mediagate"',
      `base_url = "${url}/v1"`,
      'env_key = "MEDIAGATE_API_KEY"',
      'wire_api = "responses"',
      '[mcp_servers.mediagate]',
      `url = "${url}/mcp"`,
      ...more,
    ];
    await mkdir(path.join(home, '.codex'));
    await writeFile(path.join(home, '.codex', 'config.toml'), config.join('\n'));
    return home;
  }
  const codexTask = ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', TASK];

  it('Codex asks what a video says and gets a picture, with a key', async () => {
    const home = await codexHome(['bearer_token_env_var = "MEDIAGATE_API_KEY"']);
    expectConversation(await runIn(home, 'codex', codexTask, { MEDIAGATE_API_KEY: site.gateway.apiKey }));
  });

  it('Codex signs in by the address alone', async () => {
    const home = await codexHome();
    await signIn(home, 'codex');
    expectConversation(await runIn(home, 'codex', codexTask, { MEDIAGATE_API_KEY: site.gateway.apiKey }));
  });

  it('the page of the inspector signs in by the address alone, and lists the tools', async function () {
    const browser = await launchPageBrowser(await chromiumFor(this));
    const env = { PATH: process.env.PATH, HOME: await makeHome(), MCP_AUTO_OPEN_ENABLED: 'false' };
    const program = spawn(path.join(programs, 'node_modules', '.bin', 'mcp-inspector'), ['--web'], { env });
    let printed = '';
    for (const stream of [program.stdout, program.stderr]) stream.on('data', (bytes) => (printed += String(bytes)));
    try {
      const page = await (await browser.newContext()).newPage();
      const address = await until(() => /http:\S+\?MCP_INSPECTOR_API_TOKEN=\w+/.exec(printed)?.[0]).catch(() => '');
      expect(address, printed).not.to.equal('');
      await page.goto(address);
      await page.getByRole('button', { name: 'Add Servers' }).click();
      await page.getByText('Add manually').click();
      const dialog = page.getByRole('dialog');
      await dialog.getByPlaceholder('my-server').fill('mediagate');
      await dialog.getByRole('textbox').nth(1).click();
      await page.getByRole('option', { name: 'streamable-http' }).click();
      await dialog.getByPlaceholder('https://example.com/mcp').fill(`${site.gateway.url}/mcp`);
      await dialog.getByRole('button', { name: 'Add', exact: true }).click();
      // The list still moves to the new server, so that a click would miss.
      await page.getByLabel('Connect or disconnect "mediagate"').press('Space');
      await page.getByRole('link', { name: 'Continue' }).click();
      await page.getByLabel('Email').fill('ann@example.com');
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'Connect MCP Inspector?' }).waitFor();
      await page.getByRole('button', { name: 'Allow' }).click();
      await page.getByText('Tools', { exact: true }).first().click();
      await page.getByText('get_link_data', { exact: true }).waitFor();
    } finally {
      program.kill();
      await browser.close();
    }
  });

  it('the inspector finds no fault in the tools, and calls one', async () => {
    const { url, apiKey } = site.gateway;
    const home = await makeHome();
    const common = ['--cli', `${url}/mcp`, '--transport', 'http', '--header', `Authorization: Bearer ${apiKey}`];
    const listed = await runIn(home, 'mcp-inspector', [...common, '--method', 'tools/list', '--strict']);
    expect(JSON.parse(listed).tools.map(({ name }: { name: string }) => name)).to.include('ask_link');
    const call = ['--method', 'tools/call', '--tool-name', 'get_link_data', '--tool-arg', `url=${VIDEO}`];
    const { structuredContent } = JSON.parse(await runIn(home, 'mcp-inspector', [...common, ...call]));
    expect(structuredContent).to.include({ content_from_outside: true, platform: 'vidsite' });
  });
});
