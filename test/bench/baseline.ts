/** A commit of this repository, built in a folder of its own, to be measured beside the working tree. */

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageRoot } from '../support/package-root.js';

/** Written when all is built. */
const READY = '.ready';
/** Where compiled files of the benchmarks and of their helpers are, in this commit and in earlier ones. */
const FOLDERS = [
  'dist/test/bench',
  'dist/bench',
  'dist/test/support/processes',
  'dist/test/support/links',
  'dist/test/support',
];

/**
 * Builds a commit in a git worktree in the folder for temporary files, or finds it there. Its packages are those of this
 * tree if both have the same lock file, or else installed.
 * @returns Its folder.
 */
export function buildCommit(commit: string): string {
  const id = git('rev-parse', '--short=12', `${commit}^{commit}`);
  const folder = path.join(tmpdir(), `mediagate-bench-${id}`);
  if (existsSync(path.join(folder, READY))) return folder;
  process.stderr.write(`building ${commit} in ${folder}\n`);
  git('worktree', 'prune');
  if (!existsSync(folder)) git('worktree', 'add', '--detach', folder, id);
  const lockOf = (root: string) => readFileSync(path.join(root, 'package-lock.json'), 'utf8');
  const packages = path.join(folder, 'node_modules');
  if (lockOf(folder) !== lockOf(packageRoot)) run(folder, 'npm', 'ci', '--no-audit', '--no-fund');
  else if (!existsSync(packages)) symlinkSync(path.join(packageRoot, 'node_modules'), packages);
  run(folder, 'npm', 'run', 'build');
  writeFileSync(path.join(folder, READY), '');
  return folder;
}

/** Imports a compiled file of a tree, from whichever folder has it. */
export function importFrom<Module>(root: string, name: string): Promise<Module> {
  const found = FOLDERS.map((folder) => path.join(root, folder, name)).find((file) => existsSync(file));
  if (found === undefined) throw new Error(`${root} has no compiled ${name}`);
  return import(pathToFileURL(found).href);
}

function git(...args: string[]): string {
  return execFileSync('git', args, { cwd: packageRoot, encoding: 'utf8' }).trim();
}

function run(folder: string, command: string, ...args: string[]): void {
  execFileSync(command, args, { cwd: folder, stdio: ['ignore', 2, 2] });
}
