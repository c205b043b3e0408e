/** The programs of the examples folder against a running gateway. */

import { execFile, spawn, spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { load } from 'js-yaml';
import { readSettings } from 'mediagate/server';
import { SETTING_DESCRIPTIONS } from '../../../server/settings/index.js';
import { chromiumFor } from '../../support/browser/chromium.js';
import { launchPageBrowser } from '../../support/browser/page-browser.js';
import { readPage } from '../../support/docs/documents.js';
import { packageRoot } from '../../support/package-root.js';
import { type GatewayHere, startGatewayHere } from '../../support/processes/gateway-here.js';
import { until } from '../../support/until.js';

const run = promisify(execFile);
const ECHO = 'You said: Ahoy!';
const PNG = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');

/** The address of an example in the checkout. */
const fileOf = (name: string) => path.join(packageRoot, 'examples', name);

describe('the examples', () => {
  let folder: string;
  let gateway: GatewayHere;
  let environment: NodeJS.ProcessEnv;

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-examples-'));
    gateway = await startGatewayHere();
    const { key } = await gateway.makeKey({ grants: ['extract', 'images', 'text', 'audio'] });
    environment = { ...process.env, MEDIAGATE_URL: gateway.url, MEDIAGATE_API_KEY: key };
  });
  after(async () => {
    await gateway.stop();
    await rm(folder, { recursive: true, force: true });
  });

  /** The output of an example, which runs in a folder of its own. */
  async function outputOf(command: string, name: string, ...args: string[]): Promise<string> {
    const { stdout } = await run(command, [fileOf(name), ...args], { cwd: folder, env: environment });
    return stdout;
  }

  async function expectImage(name: string): Promise<void> {
    const bytes = await readFile(path.join(folder, name));
    expect(bytes.subarray(0, PNG.length).equals(PNG), name).to.equal(true);
    await rm(path.join(folder, name));
  }

  it('are all in the table of their README', () => {
    const folders = globSync('examples/*/', { cwd: packageRoot }).map((name) => path.basename(name));
    const linked = [...readPage('examples/README.md').matchAll(/^\| \[`[^`]+`\]\(([\w-]+)\//gm)].map(
      ([, name]) => name,
    );
    expect(new Set(linked)).to.deep.equal(new Set(folders));
  });

  it('curl: makes all its requests', async () => {
    const printed = await outputOf('bash', 'curl/first-requests.sh');
    expect(printed)
      .to.contain('"id":"m-5.5"')
      .and.to.contain('data: [DONE]')
      .and.to.match(/"text":"The quick brown fox/);
    await expectImage('tug.png');
  });

  it('Node: streams a chat, and explains a refusal', async () => {
    expect(await outputOf(process.execPath, 'node/stream-chat.mjs', 'Ahoy!')).to.contain(ECHO);
    const refused = run(process.execPath, [fileOf('node/stream-chat.mjs')], {
      env: { ...environment, MEDIAGATE_API_KEY: 'sk-mg-wrong' },
    });
    const reason = await refused.then(
      () => '',
      ({ stderr }) => stderr,
    );
    expect(reason).to.match(/401 invalid_api_key: .+ \(request \S+\)/);
  });

  it('Node: makes images as jobs', async () => {
    const printed = await outputOf(process.execPath, 'node/image-jobs.mjs');
    expect(printed.match(/tug-\w+\.png: 1536 x 1024/g)).to.have.length(3);
    for (const time of ['dawn', 'noon', 'night']) await expectImage(`tug-${time}.png`);
  });

  it('Python: makes all its requests', async function () {
    if (spawnSync('python3', ['--version']).error) this.skip();
    const printed = await outputOf('python3', 'python/first_requests.py');
    expect(printed)
      .to.contain(ECHO)
      .and.to.match(/^The quick brown fox/m);
    await expectImage('tug.png');
  });

  it('browser: its page chats, and never gets the key', async function () {
    const executable = await chromiumFor(this);
    const server = spawn(process.execPath, [fileOf('browser/server.mjs')], { env: { ...environment, PORT: '0' } });
    let printed = '';
    server.stdout.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
    const browser = await launchPageBrowser(executable);
    try {
      const address = await until(() => /http:\/\/127\.0\.0\.1:\d+/.exec(printed)?.[0]);
      const page = await (await browser.newContext()).newPage();
      await page.goto(address);
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText(ECHO).waitFor();
      expect(await page.content()).not.to.contain('sk-mg-');
    } finally {
      await browser.close();
      server.kill();
    }
  });

  it('embedding: makes an image without a server', async () => {
    expect(await outputOf(process.execPath, 'embedding/image.mjs')).to.match(/^imgjob_\w+: tug\.png$/m);
    await expectImage('tug.png');
  });

  it('compose: sets settings that exist, at the port of the image, and gives the node time to stop', () => {
    const { services } = load(readFileSync(fileOf('compose/compose.yml'), 'utf8')) as {
      services: { mediagate: { environment: Record<string, string>; ports: string[]; stop_grace_period: string } };
    };
    const { environment: settings, ports, stop_grace_period } = services.mediagate;
    const names = new Set(SETTING_DESCRIPTIONS.map(({ name }) => name));
    expect(Object.keys(settings).filter((name) => !names.has(name))).to.deep.equal([]);
    expect(readSettings(settings)).to.include({ site: false, baseUrl: 'http://127.0.0.1:8787' });
    const [, port] =
      /^EXPOSE (\d+)$/m.exec(readFileSync(path.join(packageRoot, 'server/deploy/Dockerfile'), 'utf8')) ?? [];
    expect(ports).to.deep.equal([`127.0.0.1:8787:${port}`]);
    const { drainSeconds, shutdownSeconds } = readSettings({});
    expect(Number.parseInt(stop_grace_period, 10)).to.be.above(drainSeconds + shutdownSeconds + 10);
  });
});
