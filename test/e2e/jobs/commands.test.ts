/** The job commands beside a running server: list, show, cancel. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir, userInfo } from 'node:os';
import path from 'node:path';
import { expect } from 'chai';
import type { ImageJobSummary } from 'mediagate';
import { createRecordingLogger } from 'mediagate/testing';
import { readSettings } from '../../../server/settings/settings.js';
import { openStateOf, type State } from '../../../server/state.js';
import { linkSamples } from '../../demo/link-samples.js';
import { describeOnStacks, type StackPlace } from '../../support/databases/stacks.js';
import {
  type ImageUpstream,
  type ImageUpstreamRequest,
  startImageUpstream,
} from '../../support/images/image-upstream.js';
import { sampleImage } from '../../support/images/sample-images.js';
import { startReplayingProxy } from '../../support/links/replaying-proxy.js';
import { type CommandResult, type Environment, runCommand } from '../../support/processes/command-line.js';
import {
  type GatewayProcess,
  type HttpAnswer,
  type MadeKey,
  startGatewayProcess,
} from '../../support/processes/gateway-process.js';
import { onceIt } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';

const SHOP = linkSamples.find(({ platform }) => platform === 'clip_shop') ?? { url: '', id: '' };
const SECRET = 'a lighthouse that nobody else is to know of';
const UNKNOWN = `imgjob_${'0'.repeat(32)}`;

describeOnStacks('mediagate jobs beside a server', (stack) => {
  const once = onceIt(stack);
  let dataFolder = '';
  let place: StackPlace;
  let upstream: ImageUpstream;
  let left: ImageUpstreamRequest[] = [];
  let environment: Environment;
  let state: State;
  let gateway: GatewayProcess;
  let key: MadeKey;

  before(async () => {
    dataFolder = await mkdtemp(path.join(tmpdir(), 'mediagate-data-'));
    place = await stack.place();
    upstream = await startImageUpstream({ onLeft: (request) => left.push(request) });
    environment = {
      ...place.environment,
      IMAGE_UPSTREAM_URL: upstream.baseUrl,
      TRUSTED_ORIGINS: upstream.origin,
      IMAGE_WORKERS: '1',
    };
    state = await openStateOf(readSettings({ ...environment, DATA_DIR: dataFolder }), createRecordingLogger());
    gateway = await startGatewayProcess({ dataFolder, environment });
    key = await gateway.makeKey({ grants: ['images', 'extract'] });
  });
  beforeEach(() => {
    left = [];
    upstream.reset();
    upstream.behave(() => ({ does: 'stall' }));
  });
  after(async () => {
    await gateway?.kill();
    await state?.close();
    await upstream?.close();
    await place?.remove();
    if (dataFolder !== '') await rm(dataFolder, { recursive: true, force: true });
  });

  const run = (...args: string[]): Promise<CommandResult> =>
    runCommand(['jobs', ...args], { ...environment, DATA_DIR: dataFolder });
  // biome-ignore lint/suspicious/noExplicitAny: what commands print is looked at member by member
  async function json(...args: string[]): Promise<any> {
    const { code, stdout, stderr } = await run(...args, '--json');
    expect([code, stderr]).to.deep.equal([0, '']);
    return JSON.parse(stdout);
  }

  const ask = (target: string, method = 'GET', body?: object, more = {}): Promise<HttpAnswer> =>
    gateway.request(target, {
      method,
      headers: { authorization: `Bearer ${key.key}`, 'content-type': 'application/json', ...more },
      ...(body && { body: JSON.stringify(body) }),
    });
  async function submit(body = {}, more = {}): Promise<string> {
    const submitted = await ask('/v1/images/jobs', 'POST', { model: 'gen-img-2', prompt: SECRET, ...body }, more);
    expect(submitted.status, submitted.text).to.equal(202);
    return submitted.json.id;
  }
  const statusOf = async (id: string) => (await ask(`/v1/images/jobs/${id}`)).json.status;

  it('list, show and cancel running and queued jobs', async () => {
    const running = await submit({}, { 'idempotency-key': 'lighthouse-1' });
    await until(() => upstream.requests.length);
    const image = (await sampleImage({ width: 64, height: 64, format: 'png', seed: 1 })).toString('base64');
    const waiting = await submit({ image: [`data:image/png;base64,${image}`] });

    const { stdout } = await run('list');
    const [head, first, second, , ...counts] = stdout.trimEnd().split('\n');
    expect(head).to.match(/^ID +KIND +STATE +AGE +IN STATE +RUNS +ACCOUNT +KEY +WORKER +WHY$/);
    expect(first).to.match(
      new RegExp(`^${waiting} +image +queued +\\d+ s +\\d+ s +0 +local +${key.id} +- +waits for a worker`),
    );
    const worker = `\\S+:${gateway.pid} +alive \\d+ s ago`;
    expect(second).to.match(new RegExp(`^${running} +image +running +\\d+ s +\\d+ s +1 +local +${key.id} +${worker}$`));
    expect(counts).to.deep.equal([
      'image: 1 queued, 1 running; ended in the last hour: 0 completed, 0 failed, 0 cancelled',
      'extraction: 0 queued, 0 running; ended in the last hour: 0 completed, 0 failed, 0 cancelled',
      'batch: 0 queued, 0 running; ended in the last hour: 0 completed, 0 failed, 0 cancelled',
      'transcript: 0 queued, 0 running; ended in the last hour: 0 completed, 0 failed, 0 cancelled',
    ]);
    const [seen, ...others] = await json('list', '--state', 'running', '--kind', 'image', '--account', 'local');
    expect(others).to.deep.equal([]);
    expect(seen).to.deep.include({ id: running, state: 'running', key: key.id, runs: 1, error: null });
    expect(seen.worker).to.include({ pid: gateway.pid, ended: false });

    const details = await run('show', running);
    expect(details.stdout)
      .to.match(/\nrequest +req_\S+\n/)
      .and.match(/\nrepeats +this job is the answer to its Idempotency-Key until .*Z\n/);
    const whole = await json('show', waiting);
    expect(whole).to.include({ id: waiting, model: 'gen-img-2', queue_position: 1, charge: null });
    expect(whole.idempotent_until).to.deep.equal([]);
    const told = details.stdout + JSON.stringify(whole) + stdout;
    expect(told)
      .not.to.match(/lighthouse|\.png/)
      .and.not.contain(key.key);

    const inspected = await state.jobs.inspect(waiting);
    const files = (inspected?.summary as ImageJobSummary | undefined)?.files ?? [];
    expect(files).to.have.length(1);
    expect(await run('cancel', waiting)).to.deep.equal({
      code: 0,
      stdout: `Job ${waiting} is cancelled.\n`,
      stderr: '',
    });
    expect(await state.files.stat(files[0] ?? '')).to.equal(undefined);

    const done = await json('cancel', running, '--note', 'the customer asked');
    expect(done).to.deep.equal({ id: running, state: 'cancelled', changed: true });
    await until(() => left.length);
    expect(await statusOf(running)).to.equal('cancelled');
    expect(await statusOf(waiting)).to.equal('cancelled');
    const { audit, failure } = await json('show', running);
    expect(failure.code).to.equal('cancelled');
    expect(audit[0]).to.include({
      actor: `operator:${userInfo().username}`,
      action: 'job.cancelled',
      from: 'running',
      note: 'the customer asked',
    });
    expect((await run('cancel', running)).stdout).to.equal(`Job ${running} was cancelled before.\n`);
    expect((await json('list', '--state', 'cancelled')).map(({ id }: { id: string }) => id)).to.deep.equal([
      running,
      waiting,
    ]);
    expect((await run('list')).stdout).to.match(
      /^No such job is queued or running; use --state to list ended jobs\.\n\nimage: 0 queued.*, 2 cancelled\n/,
    );
    expect(gateway.output()).not.to.contain('lost its lease');
  });

  it('print that a worker is dead, and that its job runs again', async () => {
    const id = await submit();
    await until(() => upstream.requests.length === 1);
    await gateway.kill();
    expect((await run('list')).stdout).to.match(
      new RegExp(`${id} .* its worker has ended; waits for another worker\n`),
    );
    gateway = await startGatewayProcess({ dataFolder, environment });
    await until(() => upstream.requests.length === 2);
    expect((await run('show', id)).stdout).to.match(/\nruns +2, 1 interrupted\n/);
    expect((await run('cancel', id)).code).to.equal(0);
    await until(() => left.length === 2);
  });

  // What follows asks nothing of the database that was not asked of it above.
  if (stack.name !== 'SQLite and a folder') return;

  once('abort the upstream as the API does, and free the worker', async () => {
    const [byCommand, byApi] = [await submit(), await submit()];
    await until(() => upstream.requests.length === 1);
    expect((await run('cancel', byCommand)).code).to.equal(0);
    await until(() => upstream.requests.length === 2);
    await ask(`/v1/images/jobs/${byApi}/cancel`, 'POST');
    await until(() => left.length === 2);
    const [one, other] = await Promise.all([byCommand, byApi].map((id) => ask(`/v1/images/jobs/${id}`)));
    const told = ({ json: job }: HttpAnswer) => [
      job.status,
      job.error.code,
      job.error.retryable,
      job.items[0].attempts,
    ];
    expect(told(one as HttpAnswer)).to.deep.equal(told(other as HttpAnswer));
    upstream.reset();
    const after = await submit();
    expect((await ask(`/v1/images/jobs/${after}?wait=60`)).json.status).to.equal('completed');
    const { charge } = await json('show', after);
    expect(charge).to.deep.include({ model: 'gen-img-2', units: 1 });
    expect((await run('show', after)).stdout).to.match(/\ncharge +1 × gen-img-2, .*outputTokens 1,056/);
    const refused = await run('cancel', after);
    expect(refused).to.deep.equal({ code: 1, stdout: '', stderr: 'mediagate: This job has completed already.\n' });
  });

  once('print why a job failed', async () => {
    upstream.behave(() => ({ does: 'moderation' }));
    const id = await submit();
    expect((await ask(`/v1/images/jobs/${id}?wait=60`)).json.status).to.equal('failed');
    expect((await run('list', '--state', 'failed')).stdout).to.match(new RegExp(`^${id} .* moderation_blocked$`, 'm'));
    expect((await run('show', id)).stdout).to.match(/\nwhy +moderation_blocked · \S/);

    // Vendors quote what they refuse; its owner is told.
    upstream.behave(() => ({ does: 'error', status: 400, code: 'invalid_value', message: `Not allowed: ${SECRET}` }));
    const quoted = await submit();
    expect((await ask(`/v1/images/jobs/${quoted}?wait=60`)).text).to.contain('Not allowed: a lighthouse');
    const shown = (await run('show', quoted)).stdout + (await run('show', quoted, '--json')).stdout;
    expect(shown).to.contain('refused').and.not.contain('lighthouse');
  });

  once('cancel an extraction of any account', async () => {
    const asked = Promise.withResolvers<void>();
    const proxy = await startReplayingProxy({
      answer: () => {
        asked.resolve();
        return { fault: 'hang' };
      },
    });
    try {
      await gateway.kill();
      gateway = await startGatewayProcess({ dataFolder, environment: place.environment, proxy });
      key = await gateway.makeKey();
      const submitted = await gateway.extract(key.key, { url: SHOP.url, async_mode: true });
      const id: string = submitted.json.data.job.job_id;
      await asked.promise;
      expect(await json('show', id)).to.include({ kind: 'extraction', platform: 'clip_shop', item: SHOP.id });
      expect((await run('show', id)).stdout).not.to.contain('http');
      expect((await run('cancel', id)).stdout).to.equal(`Job ${id} is cancelled.\n`);
      const { json: answer } = await ask(`/v1/extract/jobs/${id}`);
      expect(answer.data.job).to.deep.include({ status: 'cancelled', attempts: 1 });
      expect([answer.ok, answer.error.code]).to.deep.equal([false, 'cancelled']);
    } finally {
      await proxy.close();
    }
  });

  once('explain wrong arguments', async () => {
    const wrong = async (...args: string[]) => {
      const { code, stdout, stderr } = await run(...args);
      return [code, stdout, stderr.split('\n', 1)[0]];
    };
    const nothing = `mediagate: There is no job ${UNKNOWN}; "mediagate jobs list" shows them.`;
    expect(await wrong('show', UNKNOWN)).to.deep.equal([1, '', nothing]);
    expect(await wrong('cancel', UNKNOWN)).to.deep.equal([1, '', nothing]);
    expect((await wrong('list', '--before', UNKNOWN))[0]).to.equal(1);
    expect(await wrong('list', '--state', 'stuck')).to.deep.equal([
      2,
      '',
      'mediagate: --state must be one of queued, running, completed, failed, cancelled.',
    ]);
    expect((await wrong('list', '--kind', 'video'))[0]).to.equal(2);
    expect((await wrong('cancel', UNKNOWN, '--note', ' '))[0]).to.equal(2);
  });
});
