/** Benchmark of the table of keys and of a start, with few keys and with a hundred thousand. */

import { PEPPER } from '../chaos/image-site.js';
import { startGatewayProcess } from '../support/processes/gateway-process.js';
import type { GrowthSide } from './growth-side.js';
import { cpuOfProcess, type Figure, median, residentMegabytes } from './measure.js';

const ROUNDS = 5;
const STARTS = 3;
const CHECKS = 20_000;
const REFRESHES = 20;
const TARGET_RATIO = 2;
const TARGET_START_MS = 3_000;

/** The table of keys that every node has in memory, and a start with it. */
export async function measureGrownKeys(little: GrowthSide, much: GrowthSide): Promise<Figure[]> {
  const checks: number[][] = [];
  const refreshes: number[][] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const [ofLittle, ofMuch] = [await useKeys(little), await useKeys(much)];
    checks.push([ofLittle.check, ofMuch.check]);
    refreshes.push([ofLittle.refresh, ofMuch.refresh]);
  }
  const { bytes, milliseconds } = await loadKeys(much);
  const engine = much.engine === 'sqlite' ? 'SQLite' : 'PostgreSQL';
  return [
    compared(`${engine}: checking a key, one of ${count(much.keys)} beside one of ${little.keys}`, checks),
    compared(`${engine}: the refresh of changed keys every 2 s, the same`, refreshes),
    {
      what: `${engine}: loading ${count(much.keys)} keys into memory`,
      measured: `${Math.round(milliseconds)} ms of CPU, ${Math.round(bytes / much.keys)} bytes a key`,
      target: '',
      met: true,
    },
    await compareStarts(engine, little, much),
  ];
}

/** Microseconds of CPU, without those of a database server. */
async function useKeys(side: GrowthSide): Promise<{ check: number; refresh: number }> {
  const table = await side.openKeys();
  try {
    const checked = cpu();
    for (let index = 0; index < CHECKS; index += 1) await table.verify(side.known[index % side.known.length] as string);
    const refreshed = cpu();
    for (let index = 0; index < REFRESHES; index += 1) await table.refresh();
    return {
      check: (refreshed - checked) / CHECKS,
      refresh: (cpu() - refreshed) / REFRESHES,
    };
  } finally {
    await table.close();
  }
}

function cpu(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

async function loadKeys(side: GrowthSide): Promise<{ bytes: number; milliseconds: number }> {
  global.gc?.();
  const before = process.memoryUsage().heapUsed;
  const began = cpu();
  const table = await side.openKeys();
  const milliseconds = (cpu() - began) / 1000;
  global.gc?.();
  const bytes = process.memoryUsage().heapUsed - before;
  await table.close();
  return { bytes, milliseconds };
}

/** CPU from starting the process to the first answered `/health`; alternating. */
async function compareStarts(engine: string, little: GrowthSide, much: GrowthSide): Promise<Figure> {
  const rounds: { milliseconds: number; megabytes: number }[][] = [];
  for (let round = 0; round < STARTS; round += 1) rounds.push([await start(little), await start(much)]);
  const of = (side: number, name: 'milliseconds' | 'megabytes') =>
    Math.round(median(rounds.map((round) => round[side]?.[name] ?? Number.NaN)));
  const milliseconds = of(1, 'milliseconds');
  return {
    what: `${engine}: start of a node, with ${count(much.keys)} keys beside ${little.keys}`,
    measured: `${milliseconds} ms, ${of(0, 'milliseconds')} ms of CPU; ${of(1, 'megabytes')} MB, ${of(0, 'megabytes')} MB resident`,
    target: `≤ ${count(TARGET_START_MS)} ms`,
    met: milliseconds <= TARGET_START_MS,
  };
}

async function start({ dataDir, databaseUrl }: GrowthSide): Promise<{ milliseconds: number; megabytes: number }> {
  const environment = {
    KEY_PEPPER: PEPPER,
    LOG_LEVEL: 'error',
    IMAGE_WORKERS: '0',
    ...(databaseUrl && { DATABASE_URL: databaseUrl }),
  };
  const gateway = await startGatewayProcess({ dataFolder: dataDir, environment });
  const milliseconds = cpuOfProcess(gateway.pid);
  const megabytes = residentMegabytes(gateway.pid);
  await gateway.stop();
  return { milliseconds, megabytes };
}

function compared(what: string, rounds: readonly number[][]): Figure {
  const of = (side: number) => median(rounds.map((round) => round[side] ?? Number.NaN));
  const ratio = median(rounds.map(([ofLittle = 0, ofMuch = 0]) => ofMuch / ofLittle));
  return {
    what,
    measured: `${of(1).toFixed(1)} µs, ${of(0).toFixed(1)} µs of CPU: ${ratio.toFixed(2)}x`,
    target: `≤ ${TARGET_RATIO}x`,
    met: ratio <= TARGET_RATIO,
  };
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}
