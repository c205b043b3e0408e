/**
 * Decides in which order the files of a whole run start, and how many of them a process gets at a time. A file takes the seconds
 * of the last run, else those that it usually takes. The longest come first, so that none is begun when all others have ended.
 * A share takes a while at most; the shares get shorter towards the end, where all processes are to end together.
 * A quick run takes the files of changed subjects first, then the shortest ones, and begins none after its time.
 */

import { type ExecFileSyncOptionsWithStringEncoding, execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { packageRoot } from '../package-root.js';

/** Seconds of files, by their path in `dist`. */
export type FileSeconds = Readonly<Record<string, number>>;

/** Files that take much longer than others of their folder, in a run on two cores; rough, since only their order matters. */
const USUAL_FILES: FileSeconds = {
  'test/e2e/site/accessible-pages-browser.test.js': 60,
  'test/core/browser/browser.test.js': 80,
  'test/long/images/scale-faults.test.js': 95,
  'test/long/payments/orders-processes.test.js': 95,
  'test/core/testing/refused-plugins.test.js': 25,
  'test/long/jobs/jobs-processes.test.js': 85,
  'test/long/site/unlucky-browser.test.js': 85,
  'test/long/usage/token-budgets.test.js': 80,
  'test/e2e/workers/workers.test.js': 50,
  'test/e2e/accounts/walk.test.js': 45,
  'plugins/clip_video/test/clip-video.test.js': 15,
  'test/captures.test.js': 25,
  'test/e2e/nodes/nodes.test.js': 60,
  'test/long/package.test.js': 60,
  'test/core/storage/files-s3.test.js': 55,
  'test/e2e/site/playground.test.js': 55,
  'test/http/webhooks/shares.test.js': 30,
  'test/e2e/docs/reference-examples.test.js': 20,
  'test/hostile-pages.test.js': 15,
  'plugins/social/test/social.test.js': 15,
  'test/e2e/http/body-attacks.test.js': 40,
  'test/e2e/jobs/commands.test.js': 40,
  'test/e2e/payments/payments.test.js': 40,
  'test/e2e/transcripts/kills.test.js': 20,
  'test/http/models/background-responses.test.js': 40,
  'plugins/photo/test/photo.test.js': 15,
  'plugins/vidsite/test/vidsite.test.js': 15,
  'test/core/testing/held-open.test.js': 25,
  'test/core/testing/polling-image-providers.test.js': 20,
  'test/http/audio/lengths.test.js': 20,
  'plugins/clip_shop/test/clip-shop.test.js': 15,
};

/** What any other file takes, by where it is; the first that fits. */
const USUAL_FOLDERS: readonly { folder: string; seconds: number }[] = [
  { folder: 'test/core/browser/', seconds: 40 },
  { folder: 'test/e2e/', seconds: 25 },
  { folder: 'test/long/', seconds: 40 },
  { folder: 'test/core/jobs/', seconds: 15 },
  { folder: 'test/http/', seconds: 9 },
  { folder: 'test/server/', seconds: 5 },
  { folder: '', seconds: 4 },
];

/** Short files are given out together, so that what they print stays readable; a process runs share after share. */
const MAX_SHARE_SECONDS = 20;
const MIN_SHARE_SECONDS = 5;
const MAX_SHARE_FILES = 10;

/** Not committed, and gone with the packages: it is of this machine. */
const LAST_RUN = path.join(packageRoot, 'node_modules', '.cache', 'mediagate-test-seconds.json');

/** Empty where there was no run, or its seconds cannot be read. */
export function readLastRun(file = LAST_RUN): FileSeconds {
  try {
    const stored: unknown = JSON.parse(readFileSync(file, 'utf8'));
    const entries = typeof stored === 'object' && stored !== null ? Object.entries(stored) : [];
    return Object.fromEntries(entries.filter(([, seconds]) => typeof seconds === 'number' && seconds >= 0));
  } catch {
    // The usual order is nearly as good.
    return {};
  }
}

/** Remembers the seconds of a run beside those of files that were not in it. */
export function storeLastRun(seconds: FileSeconds, file = LAST_RUN): void {
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, JSON.stringify({ ...readLastRun(file), ...seconds }));
}

/** What a file is expected to take. */
export function expectedSeconds(file: string, lastRun: FileSeconds): number {
  const usual = USUAL_FOLDERS.find(({ folder }) => file.startsWith(folder))?.seconds ?? 1;
  return lastRun[file] ?? USUAL_FILES[file] ?? usual;
}

/** A queue of files for the processes of a run. */
export interface TestQueue {
  /** Files that it has not given out. */
  readonly left: number;
  /** What a process runs next, together; undefined where nothing is left, or may be begun any more. */
  next(): readonly string[] | undefined;
}

/** All of the files, the longest first, for a number of processes. */
export class WholeQueue implements TestQueue {
  readonly #waiting: { file: string; seconds: number }[];
  readonly #processes: number;

  constructor(files: readonly string[], lastRun: FileSeconds, processes: number) {
    this.#waiting = files
      .map((file) => ({ file, seconds: expectedSeconds(file, lastRun) }))
      .sort((one, other) => other.seconds - one.seconds);
    this.#processes = processes;
  }

  get left(): number {
    return this.#waiting.length;
  }

  next(): readonly string[] | undefined {
    const first = this.#waiting.shift();
    if (!first) return undefined;
    const left = this.#waiting.reduce((sum, { seconds }) => sum + seconds, first.seconds);
    // Half of what each process has left: its next share can make up for what this one takes too long.
    const fair = left / (2 * this.#processes);
    const limit = Math.min(Math.max(fair, MIN_SHARE_SECONDS), MAX_SHARE_SECONDS);
    const files = [first.file];
    let seconds = first.seconds;
    for (let next = this.#waiting[0]; next && files.length < MAX_SHARE_FILES; next = this.#waiting[0]) {
      seconds += next.seconds;
      if (seconds > limit) break;
      files.push(next.file);
      this.#waiting.shift();
    }
    return files;
  }
}

/** What a quick run leaves out, besides PostgreSQL and the browser: whole processes, and what makes or walks through much. */
const NOT_QUICK =
  /^test\/(?:e2e|long|chaos|cluster|clients|core\/browser)\/|browser|^test\/(?:deploy|captures|hostile-pages)\./;
/** A file that takes longer is in a quick run only where its subject has changed. */
const QUICK_FILE_SECONDS = 12;
/** What a process of a quick run takes at a time. */
const QUICK_SHARE_SECONDS = 4;
/** Seconds after which nothing is begun; what runs then ends in time. */
const QUICK_SECONDS = 60;

/** Files of a quick run: of changed subjects first, then the shortest. */
export class QuickQueue implements TestQueue {
  readonly #waiting: { file: string; seconds: number }[];
  readonly #ends: number;
  readonly #now: () => number;

  /** @param now Seconds since any moment. */
  constructor(
    files: readonly string[],
    lastRun: FileSeconds,
    changed: readonly string[],
    now: () => number = () => performance.now() / 1_000,
  ) {
    const isChanged = (file: string) => changed.some((source) => isAbout(file, source));
    this.#waiting = files
      .map((file) => ({ file, seconds: expectedSeconds(file, lastRun), first: isChanged(file) }))
      .filter(({ file, seconds, first }) => !NOT_QUICK.test(file) && (first || seconds <= QUICK_FILE_SECONDS))
      .sort((one, other) => Number(other.first) - Number(one.first) || one.seconds - other.seconds);
    this.#now = now;
    this.#ends = now() + QUICK_SECONDS;
  }

  get left(): number {
    return this.#waiting.length;
  }

  next(): readonly string[] | undefined {
    if (this.#now() >= this.#ends) return undefined;
    const files: string[] = [];
    for (let seconds = 0; files.length < MAX_SHARE_FILES; ) {
      const next = this.#waiting[0];
      seconds += next?.seconds ?? 0;
      if (!next || (files.length > 0 && seconds > QUICK_SHARE_SECONDS)) break;
      files.push(next.file);
      this.#waiting.shift();
    }
    return files.length > 0 ? files : undefined;
  }
}

/**
 * Whether a test is about a source that has changed: itself, the test of its folder or plugin, a test over HTTP that lies in the
 * folder of the subject, or one that has the name of its folder or file in its own.
 */
export function isAbout(test: string, source: string): boolean {
  const [kind = '', name = ''] = source.split('/');
  if (kind === 'plugins') return test.startsWith(`plugins/${name}/`);
  const stem = (file: string) => path.posix.basename(file).replace(/\.(?:test\.)?[jt]s$/, '');
  if (kind === 'test') return source.endsWith('.test.ts') && test.replace(/\.js$/, '.ts') === source;
  if (kind !== 'core' && kind !== 'server') return false;
  const folder = path.posix.dirname(source);
  if (test.startsWith(`test/${folder}/`)) return true;
  const singular = (word: string) => word.replace(/s$/, '');
  const words = stem(test).split('-').map(singular);
  if (test.startsWith(`test/http/${path.posix.basename(folder)}/`)) return true;
  return [path.posix.basename(folder), stem(source)].some((named) =>
    named.split('-').every((word) => words.includes(singular(word))),
  );
}

/** Paths of what differs from the branch `main`, or is not committed. Empty where Git does not know. */
export function changedSources(): string[] {
  const git = (...parameters: string[]) => {
    try {
      const options: ExecFileSyncOptionsWithStringEncoding = {
        cwd: packageRoot,
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'ignore'],
      };
      return execFileSync('git', parameters, options).split('\n');
    } catch {
      // No Git, no checkout, or no such branch.
      return [];
    }
  };
  const changed = [
    ...git('diff', '--name-only', 'HEAD'),
    ...git('ls-files', '--others', '--exclude-standard'),
    ...git('diff', '--name-only', 'main...HEAD'),
  ];
  return [...new Set(changed.filter((file) => file !== ''))];
}
