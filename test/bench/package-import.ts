/** Benchmark of `import 'mediagate'`: time and memory. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { packageRoot } from '../support/package-root.js';
import { type Figure, median } from './measure.js';

const ROUNDS = 7;

interface Import {
  ms: number;
  megabytes: number;
}

/** What `import 'mediagate'` costs a program that embeds the gateway, before it uses anything. */
export async function measurePackageImport(): Promise<Figure[]> {
  const imports: Import[] = [];
  for (let round = 0; round < ROUNDS; round += 1) imports.push(await importOnce());
  return [
    {
      what: "`import 'mediagate'` in an empty Node process",
      measured: `${Math.round(median(imports.map(({ ms }) => ms)))} ms, ${median(imports.map(({ megabytes }) => megabytes)).toFixed(1)} MB`,
      target: '',
      met: true,
    },
  ];
}

async function importOnce(): Promise<Import> {
  const script = `
    const memory = process.memoryUsage.rss();
    const began = performance.now();
    await import('mediagate');
    const ms = performance.now() - began;
    console.log(JSON.stringify({ ms, megabytes: (process.memoryUsage.rss() - memory) / 1e6 }));
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
    cwd: packageRoot,
  });
  return JSON.parse(stdout);
}
