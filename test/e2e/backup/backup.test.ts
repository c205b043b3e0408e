/** A backup of a gateway under load, and its restored jobs and files. */

import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Sqlite from 'better-sqlite3';
import { expect } from 'chai';
import { restoreState } from '../../../server/backup/maintenance.js';
import { blackPng } from '../../support/images/images.js';
import { type GatewayProcess, startGatewayProcess } from '../../support/processes/gateway-process.js';
import { isLongRun } from '../../support/runner/variants.js';
import { until } from '../../support/until.js';

const CLIENTS = isLongRun ? 20 : 8;
const ROUNDS = isLongRun ? 3 : 1;
/** Of each sort; the queue may be long. */
const LOOKED_AT = isLongRun ? 10 : 4;
const PAUSE_MS = 200;
/** More than one worker makes in the time that a command needs to begin. */
const BURST = isLongRun ? 150 : 40;
/** A key may poll 20 times in a second. */
const POLL_MS = 60;
const { signal } = new AbortController();
const ENVIRONMENT = { IMAGE_WORKERS: '1', IMAGE_MAX_ACTIVE: '100000', LOG_LEVEL: 'silent' };

interface JobRow {
  id: string;
  state: string;
  input: string;
  result: string | null;
}

describe('a backup of a busy gateway', () => {
  let folder: string;
  let gateway: GatewayProcess;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-backup-'));
    gateway = await startGatewayProcess({ dataFolder: path.join(folder, 'data'), environment: ENVIRONMENT });
  });

  afterEach(async () => {
    await gateway.kill();
    await rm(folder, { recursive: true, force: true });
  });

  it('contains every job accepted before it began, with all files, and continues them', async () => {
    const { key } = await gateway.makeKey({ grants: ['images'] });
    const reference = `data:image/png;base64,${blackPng({ width: 16, height: 16 }).toString('base64')}`;
    const accepted: string[] = [];
    let stopped = false;

    async function submit(number: number): Promise<void> {
      const image = number % 4 === 0 ? [reference] : [];
      const { status, json, text } = await gateway.request('/v1/images/jobs', {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'gen-img-2', prompt: randomUUID(), size: '64x64', image }),
      });
      expect(status, text).to.equal(202);
      accepted.push(json.id);
    }
    const clients = Promise.all(
      Array.from({ length: CLIENTS }, async (_, number) => {
        for (; !stopped; await sleep(PAUSE_MS)) await submit(number);
      }),
    );

    let restored = '';
    let before: readonly string[] = [];
    for (let round = 1; round <= ROUNDS; round += 1) {
      const most = accepted.length + CLIENTS;
      await until(() => accepted.length >= most);
      if (round === ROUNDS) await Promise.all(Array.from({ length: BURST }, (_, number) => submit(number)));
      const backup = path.join(folder, `backup-${round}`);
      // One during which nothing was accepted is made again.
      do {
        await rm(backup, { recursive: true, force: true });
        before = [...accepted];
        const made = await gateway.command('backup', backup, '--secrets');
        expect(made.code, made.stderr).to.equal(0);
      } while (accepted.length === before.length);

      restored = path.join(folder, `restored-${round}`);
      await restoreState({ folder: backup, dataDir: restored, signal, report: () => undefined });
      const jobs = readJobs(restored);
      expect(before.filter((id) => !jobs.has(id))).to.deep.equal([]);
      expect(missingFiles(restored, before, jobs)).to.deep.equal([]);
    }
    stopped = true;
    await clients;
    await gateway.kill();

    const jobs = readJobs(restored);
    gateway = await startGatewayProcess({ dataFolder: restored, environment: ENVIRONMENT });
    const get = (target: string) => gateway.request(target, { headers: { authorization: `Bearer ${key}` } });
    const isDone = (id: string) => jobs.get(id)?.state === 'completed';
    const [done, open] = [before.filter(isDone), before.filter((id) => !isDone(id))];
    expect([done.length, open.length]).to.satisfy((lengths: number[]) => lengths.every((length) => length > 0));
    for (const id of [...done.slice(-LOOKED_AT), ...open.slice(0, LOOKED_AT)]) {
      const job = await until(async () => {
        const { status, json, text } = await get(`/v1/images/jobs/${id}`);
        expect(status, text).to.equal(200);
        await sleep(POLL_MS);
        return json.pending === 0 && json;
      });
      expect(job.status, JSON.stringify(job.error)).to.equal('completed');
      const file = await fetch(gateway.url + new URL(job.data[0].url).pathname, {
        headers: { authorization: `Bearer ${key}` },
      });
      expect([file.status, (await file.bytes()).length]).to.deep.equal([200, job.data[0].bytes]);
    }
  });
});

function readJobs(dataFolder: string): Map<string, JobRow> {
  const sqlite = new Sqlite(path.join(dataFolder, 'state.sqlite'), { readonly: true });
  const verdict = sqlite.pragma('integrity_check', { simple: true });
  expect(verdict).to.equal('ok');
  const rows = sqlite.prepare('select id, state, input, result from jobs').all() as JobRow[];
  sqlite.close();
  return new Map(rows.map((row) => [row.id, row]));
}

/** Pictures of jobs that are done, and input images of jobs that are not. */
function missingFiles(dataFolder: string, ids: readonly string[], jobs: ReadonlyMap<string, JobRow>): string[] {
  return ids.flatMap((id) => {
    const { state, input, result } = jobs.get(id) ?? { state: '', input: '', result: null };
    const named = state === 'completed' ? (result ?? '') : input;
    const names = named.match(/\b(?:img|ref)_[\w-]+\.[a-z]+\b/g) ?? [];
    expect(state === 'completed' ? names.length : 1, `files of ${id}`).to.be.greaterThan(0);
    return names.filter((name) => !existsSync(path.join(dataFolder, 'files', name)));
  });
}
