/** Links that several workers of a machine are asked for at the same time. */

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import { describeOnFirstStack, type StackPlace } from '../../support/databases/stacks.js';
import { packageRoot } from '../../support/package-root.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { until } from '../../support/until.js';
import { REMOVED } from './slow-platform.js';

const CLIENTS = 8;

describeOnFirstStack('a link that several workers are asked for at once', (stack) => {
  let place: StackPlace;
  let folder: string;
  let gateway: GatewayProcess;
  let key: string;

  before(async () => {
    place = await stack.place();
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-workers-'));
    const use = path.join(packageRoot, 'dist', 'test', 'e2e', 'workers', 'slow-platform.js');
    const plugins = path.join(folder, 'plugins.config.json');
    await writeFile(plugins, JSON.stringify({ plugins: [{ id: 'invented', use }] }));
    gateway = await startGatewayProcess({
      environment: {
        ...place.environment,
        WORKERS: '2',
        PLUGINS_CONFIG: plugins,
        FETCHES_FILE: path.join(folder, 'fetches'),
      },
    });
    ({ key } = await gateway.makeKey({ grants: ['extract'] }));
    await untilAllWork();
  });
  beforeEach(() => writeFile(path.join(folder, 'fetches'), ''));
  after(async () => {
    await gateway.stop();
    await place.remove();
    await rm(folder, { recursive: true, force: true });
  });

  const untilAllWork = () => until(async () => (await gateway.request('/health')).json.checks.workers?.ok);

  /** The process and the item of each fetch so far. */
  async function fetches(): Promise<string[][]> {
    const text = await readFile(path.join(folder, 'fetches'), 'utf8');
    return text.split('\n').flatMap((line) => (line === '' ? [] : [line.split(' ')]));
  }

  /** Asks on so many connections, which go to the workers in turn. */
  function ask(url: string): Promise<string[]> {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json', connection: 'close' };
    const body = JSON.stringify({ url });
    const answers = Array.from({ length: CLIENTS }, () =>
      gateway.request('/v1/extract', { method: 'POST', headers, body }).then(
        ({ status, json }) => `${status} ${json.data?.ids.video_id ?? json.error?.code}`,
        () => 'broken',
      ),
    );
    return Promise.all(answers);
  }

  it('is fetched once', async () => {
    const answers = await ask('https://invented.example/item/1');
    expect(answers).to.deep.equal(Array(CLIENTS).fill('200 1'));
    expect(await fetches()).to.have.length(1);
  });

  it('is fetched once if the platform refuses it', async () => {
    const answers = await ask(`https://invented.example/item/${REMOVED}`);
    expect(new Set(answers).size, answers.join()).to.equal(1);
    expect(answers[0]).to.match(/ removed$/);
    expect(await fetches()).to.have.length(1);
  });

  it('is resolved once and fetched once if it is a short link', async () => {
    const answers = await ask('https://inv.example/short');
    expect(answers).to.deep.equal(Array(CLIENTS).fill('200 77'));
    expect((await fetches()).map(([, id]) => id)).to.deep.equal(['short', '77']);
  });

  it('is fetched by another worker if the first one is killed', async () => {
    const asked = ask('https://invented.example/item/2');
    const [[pid] = []] = await until(async () => {
      const made = await fetches();
      return made.length > 0 ? made : undefined;
    });
    process.kill(Number(pid), 'SIGKILL');
    const answers = await asked;
    const answered = answers.filter((answer) => answer !== 'broken');
    expect(answered).to.deep.equal(Array(answered.length).fill('200 2'));
    expect(answered.length).to.be.within(1, CLIENTS - 1);
    expect(await fetches()).to.have.length(2);
    await untilAllWork();
  });
});
