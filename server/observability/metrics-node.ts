import { roomOf } from '../settings/index.js';
import { PACKAGE_VERSION } from '../version.js';
import type { AddLookedUp, Figure } from './metrics-figures.js';
import type { MetricSources } from './metrics-sources.js';

/** Figures of this process and of what it rests on. */
export function addNodeFigures(add: AddLookedUp, sources: MetricSources): void {
  add({
    name: 'mediagate_build_info',
    help: '1, with the version that runs.',
    labelNames: ['version'],
    look: () => [[{ version: PACKAGE_VERSION }, 1]],
  });
  add({
    name: 'mediagate_check_up',
    help: '1 where what the gateway rests on answers (database, data_folder, files, cache); 0 where it does not.',
    labelNames: ['check'],
    look: () => perCheck(({ ok }) => (ok ? 1 : 0)),
  });
  add({
    name: 'mediagate_check_duration_seconds',
    help: 'Seconds that it took to answer, 2 at the most.',
    labelNames: ['check'],
    look: () => perCheck(({ ms }) => ms / 1000),
  });
  add({
    name: 'mediagate_key_refresh_age_seconds',
    help: 'Seconds since the keys in memory were those of the database; a few where all is well.',
    look: () => sources.keysAgeMs && [[{}, sources.keysAgeMs() / 1000]],
  });
  add({
    name: 'mediagate_files_awaiting_upload',
    help: 'Files on the disk of this node that the object store has not got yet.',
    look: async () => sources.filesAwaiting && [[{}, await sources.filesAwaiting()]],
  });
  add({
    name: 'mediagate_data_folder_free_bytes',
    help: 'Bytes that are free on the file system of the data folder.',
    look: () => room(({ free }) => free),
  });
  add({
    name: 'mediagate_data_folder_size_bytes',
    help: 'Bytes that this file system has.',
    look: () => room(({ size }) => size),
  });
  add({
    name: 'mediagate_trace_spans_total',
    help: 'Finished spans by outcome: sent, failed (the collector did not take them), dropped (there was no room).',
    labelNames: ['outcome'],
    total: true,
    look: () =>
      sources.spans && Object.entries(sources.spans()).map(([outcome, count]): Figure => [{ outcome }, count]),
  });

  async function room(value: (room: Awaited<ReturnType<typeof roomOf>>) => number): Promise<Figure[] | undefined> {
    return sources.dataDir === undefined ? undefined : [[{}, value(await roomOf(sources.dataDir))]];
  }

  async function perCheck(value: (result: { ok: boolean; ms: number }) => number): Promise<Figure[] | undefined> {
    const results = await sources.checks?.();
    return results && Object.entries(results).map(([check, result]) => [{ check }, value(result)]);
  }
}
