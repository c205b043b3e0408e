/** The commands backup and restore: contents, damage, interruptions. */

import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import Sqlite from 'better-sqlite3';
import { expect } from 'chai';
import { systemClock } from '../../../core/runtime/time.js';
import { type BackupOptions, backUpState, type Progress, restoreState } from '../../../server/backup/maintenance.js';
import { openState } from '../../../server/state.js';
import { ListLogger } from '../../support/databases/engines.js';
import { sharedPostgres } from '../../support/databases/postgres.js';
import { packageRoot } from '../../support/package-root.js';
import { type CommandResult, type Environment, runCommand } from '../../support/processes/command-line.js';
import { startGatewayProcess } from '../../support/processes/gateway-process.js';

const PEPPER = 'a pepper of at least 32 characters';

describe('the commands backup and restore', () => {
  let folder: string;
  let dataDir: string;
  let key: string;

  const at = (...parts: string[]) => path.join(folder, ...parts);
  const run = (args: readonly string[], environment: Environment = {}): Promise<CommandResult> =>
    runCommand(args, { DATA_DIR: dataDir, ...environment });

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'mediagate-backups-'));
    dataDir = at('data');
    const made = await run(['keys', 'create', '--json']);
    key = JSON.parse(made.stdout).key;
    const state = await openState({ dataDir, clock: systemClock, logger: new ListLogger() });
    const write = (name: string, expiresAt?: Date) =>
      state.files.write({ name, contentType: 'text/plain', body: Buffer.from(name), expiresAt });
    await write('kept.txt');
    await write('due.txt', new Date(Date.UTC(2099, 0, 1)));
    await state.close();
    await writeFile(path.join(dataDir, 'files', '.incoming-1'), 'half');
    await symlink('/etc/passwd', path.join(dataDir, 'files', 'link.txt'));
    await mkdir(path.join(dataDir, 'browser'));
  });

  after(() => rm(folder, { recursive: true, force: true }));

  it('restore nothing if a secret is invalid, although its digest is right', async () => {
    expect((await run(['backup', at('bad', 'backup'), '--secrets'])).code).to.equal(0);
    const bad = 'short';
    await writeFile(at('bad', 'backup', 'secrets', 'key-pepper'), bad);
    const sums = await readFile(at('bad', 'backup', 'SHA256SUMS'), 'utf8');
    const sum = createHash('sha256').update(bad).digest('hex');
    await writeFile(at('bad', 'backup', 'SHA256SUMS'), sums.replace(/^\w{64}(?= {2}secrets\/key-pepper$)/m, sum));
    const { code, stderr } = await run(['restore', at('bad', 'backup')], { DATA_DIR: at('bad', 'data') });
    expect([code !== 0, stderr.includes('secrets/key-pepper')], stderr).to.deep.equal([true, true]);
    expect(await readdir(at('bad', 'data'))).to.deep.equal([]);
  });

  it('copy the state with permissions for its owner, in a form that other programs can check', async () => {
    const { code, stdout, stderr } = await run(['backup', at('new', 'plain')]);
    expect([code, stderr]).to.deep.equal([0, '']);
    expect(stdout).to.match(/new\/plain: \d+ rows, 2 files, [\d.]+ MiB\.\n/);
    expect(stdout).to.contain('--secrets');
    const names = (await readdir(at('new', 'plain'), { recursive: true })).sort();
    expect(names).to.deep.equal([
      'SHA256SUMS',
      'files',
      'files/due.txt',
      'files/kept.txt',
      'manifest.json',
      'state.sqlite',
    ]);
    expect((await stat(at('new', 'plain'))).mode & 0o777).to.equal(0o700);
    for (const name of names.filter((one) => one !== 'files')) {
      expect((await stat(at('new', 'plain', name))).mode & 0o777, name).to.equal(0o600);
    }
    const manifest = JSON.parse(await readFile(at('new', 'plain', 'manifest.json'), 'utf8'));
    expect(manifest).to.deep.include({ format: 1, secrets: false });
    expect(manifest.tables).to.include({ api_keys: 1, jobs: 0 });
    expect(manifest.files.count).to.equal(2);
    await promisify(execFile)('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: at('new', 'plain') });
    expect(await readdir(at('new'))).to.deep.equal(['plain']);
  });

  it('restore into an empty folder, and name keys that need a missing secret', async () => {
    const cases: [string[], Environment, boolean][] = [
      [[], {}, false],
      [['--secrets'], {}, true],
    ];
    for (const [flags, environment, isValidKey] of cases) {
      const [backup, restored] = [at(`one${flags.length}`), at('made', `restored${flags.length}`)];
      expect((await run(['backup', backup, ...flags])).code).to.equal(0);
      const back = await run(['restore', backup], { ...environment, DATA_DIR: restored });
      expect([back.code, back.stderr]).to.deep.equal([0, '']);
      expect(back.stdout).to.match(/\d+ rows, 2 files, as of 20/);
      expect(/KEY_PEPPER/.test(back.stdout), back.stdout).to.equal(!isValidKey);
      expect((await stat(path.join(restored, 'files', 'due.txt'))).mtime.toISOString()).to.match(/^2099/);
      const gateway = await startGatewayProcess({ dataFolder: restored });
      const { status } = await gateway.extract(key, { url: 'no link' });
      expect(status).to.equal(isValidKey ? 400 : 401);
      expect(await gateway.stop()).to.equal(0);
      const state = await openState({ dataDir: restored, clock: systemClock, logger: new ListLogger() });
      expect((await state.files.stat('kept.txt'))?.size).to.equal(8);
      await state.close();
    }
  });

  it('use secrets that are already in the folder, and those of the settings', async () => {
    const backup = at('early');
    await run(['backup', backup]);
    const restored = at('early-restored');
    await mkdir(path.join(restored, 'secrets'), { recursive: true });
    await writeFile(
      path.join(restored, 'secrets', 'key-pepper'),
      await readFile(path.join(dataDir, 'secrets', 'key-pepper')),
    );
    const { code, stdout } = await run(['restore', backup], { DATA_DIR: restored });
    expect([code, stdout.includes('KEY_PEPPER')]).to.deep.equal([0, false]);

    const own = { DATA_DIR: at('peppered'), KEY_PEPPER: PEPPER };
    await run(['keys', 'create'], own);
    const made = await run(['backup', at('peppered-backup')], own);
    expect(made.stdout).not.to.contain('--secrets');
    const back = await run(['restore', at('peppered-backup')], { ...own, DATA_DIR: at('peppered-restored') });
    expect([back.code, back.stdout.includes('KEY_PEPPER')]).to.deep.equal([0, false]);
  });

  it('refuse unusable places, and leave nothing behind', async () => {
    await run(['backup', at('good')]);
    await mkdir(at('there'));
    await mkdir(at('full', 'files'), { recursive: true });
    await mkdir(at('some'));
    const before = (await readdir(folder)).sort();
    const cases: [string[], Environment, number, RegExp][] = [
      [['backup'], {}, 2, /folder/],
      [['backup', at('there')], {}, 2, /exists already/],
      [['backup', path.join(dataDir, 'backup')], {}, 2, /inside the data folder/],
      [['backup', at('x')], { DATA_DIR: at('some') }, 2, /There is no database in .*some; set DATA_DIR/],
      [['restore', at('nowhere')], { DATA_DIR: at('y') }, 2, /is not a backup/],
      [['restore', dataDir], { DATA_DIR: at('y') }, 2, /is not a backup/],
      [['restore', at('good')], {}, 2, /must be empty.*it has/],
      [['restore', at('good')], { DATA_DIR: at('full') }, 2, /must be empty.*it has files/],
      [['restore', at('good')], { DATABASE_URL: 'postgres://x' }, 2, /mediagate import/],
    ];
    for (const [args, environment, exitCode, said] of cases) {
      const { code, stdout, stderr } = await run(args, environment);
      expect([code, stdout], `${args}: ${stderr}`).to.deep.equal([exitCode, '']);
      expect(stderr).to.match(said).and.not.to.contain('    at ');
    }
    expect((await readdir(folder)).sort()).to.deep.equal(before);
  });

  it('detect damage before they replace anything', async () => {
    const damages: [string, RegExp, (backup: string) => Promise<unknown>][] = [
      [
        'bit',
        /files\/kept\.txt is changed since the backup/,
        (to) => writeFile(path.join(to, 'files/kept.txt'), 'other'),
      ],
      ['gone', /files\/due\.txt is missing/, (to) => rm(path.join(to, 'files/due.txt'))],
      ['sums', /an invalid line/, (to) => addSum(to, '../../escaped.txt')],
      ['foreign', /an invalid line/, (to) => addSum(to, 'files/../state.sqlite')],
      ['manifest', /cannot be read by this release/, (to) => writeFile(path.join(to, 'manifest.json'), '{"format":2}')],
      ['rows', /do not have the rows that its manifest lists/, (to) => changeRows(to)],
      ['pages', /damaged/, (to) => damagePages(to)],
      ['newer', /newer release/, (to) => noteMigration(to)],
    ];
    const { signal } = new AbortController();
    await run(['backup', at('sound')]);
    for (const [name, said, damage] of damages) {
      const [backup, target] = [at(`damaged-${name}`), at(`damaged-${name}-restored`)];
      await cp(at('sound'), backup, { recursive: true });
      await damage(backup);
      const restoring = restoreState({ folder: backup, dataDir: target, signal, report: () => undefined });
      expect(await restoring.catch(({ message }: Error) => message), name).to.match(said);
      expect(await readdir(target).catch(() => []), name).to.deep.equal([]);
    }
    const { code, stdout, stderr } = await run(['restore', at('damaged-bit')], { DATA_DIR: at('damaged') });
    expect([code, stdout]).to.deep.equal([1, '']);
    expect(stderr).to.match(/^mediagate: The backup is damaged: .*kept\.txt is changed since the backup\.\n$/);
  });

  it('print system errors in one line', async () => {
    const { code, stdout, stderr } = await run(['backup', '/dev/null/backup']);
    expect([code, stdout]).to.deep.equal([1, '']);
    expect(stderr).to.match(/^mediagate: The command failed: ENOTDIR.*\n$/);
  });

  it('leave nothing behind when they are interrupted', async () => {
    await run(['backup', at('whole')]);
    const before = (await readdir(folder)).sort();
    type Cut = Pick<BackupOptions, 'signal' | 'report'>;
    const backUp = (cut: Cut) =>
      backUpState({ dataDir, folder: at('cut'), release: '0', secrets: true, clock: systemClock, ...cut });
    const restore = (cut: Cut) => restoreState({ folder: at('whole'), dataDir: at('cut'), ...cut });
    const cases: [string, (cut: Cut) => Promise<unknown>][] = [
      ['files', backUp],
      ['database, percent', backUp],
      ['check', backUp],
      ['files', restore],
      ['check', restore],
    ];
    for (const [last, work] of cases) {
      const cut = new AbortController();
      const report = ({ step }: Progress) => step === last && cut.abort(new Error('cut off'));
      const outcome = await work({ signal: cut.signal, report }).catch(({ message }: Error) => message);
      expect(outcome, last).to.equal('cut off');
      expect(await readdir(at('cut')).catch(() => []), last).to.deep.equal([]);
      await rm(at('cut'), { recursive: true, force: true });
      expect((await readdir(folder)).sort()).to.deep.equal(before);
    }
  });

  it("refer to PostgreSQL's own program, without the password", async () => {
    const DATABASE_URL = 'postgres://me:hunter2@db.example:5433/gate?sslmode=require&password=hunter3';
    const { code, stdout, stderr } = await run(['backup', at('pg')], { DATABASE_URL });
    expect([code, stdout]).to.deep.equal([2, '']);
    expect(stderr).to.contain(
      `pg_dump --format=custom --no-owner --file='${at('pg.dump')}' 'postgres://me@db.example:5433/gate?sslmode=require'`,
    );
    expect(stderr)
      .to.contain(path.join(dataDir, 'files'))
      .and.not.to.match(/hunter/);
  });

  it('print a working command for PostgreSQL', async function () {
    const postgres = await sharedPostgres();
    // The package of npm has no pg_dump, and another's may be too old for its server.
    if ('unavailable' in postgres || postgres.source !== 'system' || !isOnPath('pg_dump')) return this.skip();
    const [url, other] = [await postgres.createDatabase(), await postgres.createDatabase()];
    await run(['keys', 'create', '--name', 'dumped'], { DATABASE_URL: url });
    const { stderr } = await run(['backup', at('pg')], { DATABASE_URL: url });
    const [, line = ''] = /^ {2}(pg_dump .*)$/m.exec(stderr) ?? [];
    await promisify(execFile)('sh', ['-c', line]);
    await promisify(execFile)('pg_restore', ['--no-owner', '--dbname', other, at('pg.dump')]);
    const listed = await run(['keys', 'list'], { DATABASE_URL: other });
    expect([listed.code, listed.stderr]).to.deep.equal([0, '']);
    expect(listed.stdout).to.contain('dumped');
    expect((await run(['migrate', '--check'], { DATABASE_URL: other })).code).to.equal(0);
  });

  it('show progress on a terminal, and nowhere else', async function () {
    if (!isOnPath('script')) return this.skip();
    const command = `stty cols 80; '${process.execPath}' dist/server/cli/cli.js backup '${at('seen')}'`;
    const env = { ...process.env, DATA_DIR: dataDir };
    const { stdout } = await promisify(execFile)('script', ['-qec', command, '/dev/null'], { cwd: packageRoot, env });
    expect(stdout)
      .to.contain('beginning')
      .and.to.match(/seen: \d+ rows/);
    expect((await run(['backup', at('unseen')])).stderr).to.equal('');
  });
});

function isOnPath(program: string): boolean {
  return (process.env.PATH ?? '').split(path.delimiter).some((folder) => existsSync(path.join(folder, program)));
}

async function addSum(backup: string, name: string): Promise<void> {
  const file = path.join(backup, 'SHA256SUMS');
  await writeFile(file, `${await readFile(file, 'utf8')}${'0'.repeat(64)}  ${name}\n`);
}

/** As whoever means harm would: with the digest put right. */
async function renewSum(backup: string, name: string): Promise<void> {
  const { stdout } = await promisify(execFile)('sha256sum', [name], { cwd: backup });
  const file = path.join(backup, 'SHA256SUMS');
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line && !line.endsWith(`  ${name}`));
  await writeFile(file, `${lines.join('\n')}\n${stdout}`);
}

async function changeRows(backup: string): Promise<void> {
  const sqlite = new Sqlite(path.join(backup, 'state.sqlite'));
  sqlite.exec('delete from api_keys');
  sqlite.close();
  await renewSum(backup, 'state.sqlite');
}

async function noteMigration(backup: string): Promise<void> {
  const sqlite = new Sqlite(path.join(backup, 'state.sqlite'));
  sqlite.exec("insert into kysely_migration values ('9999-less-needs-9998', '2099-01-01T00:00:00.000Z')");
  sqlite.close();
  await renewSum(backup, 'state.sqlite');
}

async function damagePages(backup: string): Promise<void> {
  const file = path.join(backup, 'state.sqlite');
  const bytes = await readFile(file);
  bytes.fill(0xa5, 8 * 4096, 12 * 4096);
  await writeFile(file, bytes);
  await renewSum(backup, 'state.sqlite');
}
