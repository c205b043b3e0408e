import { renderTable } from '../format/index.js';
import type { Settings } from '../settings/index.js';
import { type CanaryTarget, chooseTargets, type TargetChoice } from './canary-links.js';
import { withGateway } from './command-gateway.js';
import { openQuietLogger } from './command-logger.js';
import { print, printJson } from './output.js';
import { type RungTrial, tryRungs } from './rung-trial.js';
import { startSpinner } from './spinner.js';

export interface CanaryOptions {
  platform?: string;
  /** A file, see {@link TargetChoice}. */
  links?: string;
  json?: boolean;
}

/** Asks every rung of every platform for a link, over the real network. Exit code 1 where one that should answer does not. */
export async function canaryCommand(settings: Settings, options: CanaryOptions): Promise<number> {
  const { platform, links: file, json } = options;
  const logger = openQuietLogger(settings);
  try {
    return await withGateway(settings, logger, async (gateway) => {
      const targets = await chooseTargets(gateway, { platform, file } satisfies TargetChoice);
      const trials = await tryAll(targets, (target, onRung) => tryRungs(gateway, target, onRung));
      if (json) printJson(trials);
      else print(render(targets, trials));
      return trials.some(({ level }) => level === 'fail') ? 1 : 0;
    });
  } finally {
    await logger.close();
  }
}

/** Platforms at the same time, the links of one platform one after the other. */
async function tryAll(
  targets: readonly CanaryTarget[],
  tryOne: (target: CanaryTarget, onRung: (rung: string) => void) => Promise<RungTrial[]>,
): Promise<RungTrial[]> {
  const spinner = startSpinner('asking');
  const busy = new Map<string, string>();
  const ofPlatforms = Object.values(Object.groupBy(targets, ({ platform }) => platform.key)).map(async (list = []) => {
    const trials: RungTrial[] = [];
    for (const target of list) {
      const { key } = target.platform;
      const onRung = (rung: string) => {
        busy.set(key, `${key}: ${rung}`);
        spinner?.update([...busy.values()].join('   '));
      };
      trials.push(...(await tryOne(target, onRung)));
      busy.delete(key);
    }
    return trials;
  });
  try {
    return (await Promise.all(ofPlatforms)).flat();
  } finally {
    spinner?.stop();
  }
}

function render(targets: readonly CanaryTarget[], trials: readonly RungTrial[]): string {
  const rows = trials.map(({ level, platform, rung, outcome, ms, filled, missing, reason }) => [
    level,
    platform,
    rung,
    outcome,
    level === 'skip' ? '' : String(ms),
    outcome === 'ok' ? String(filled.length) : '',
    missing.length > 0 ? `missing ${missing.join(', ')}` : (reason ?? ''),
  ]);
  const table = renderTable(['', 'PLATFORM', 'RUNG', 'OUTCOME', 'MS', 'FIELDS', ''], rows);
  const asked = targets.map(({ platform, url }) => `${platform.key.padEnd(12)}  ${url}`).join('\n');
  const failed = trials.filter(({ level }) => level === 'fail');
  const verdict =
    failed.length === 0
      ? 'Every rung that should answer does.'
      : failed.length === 1
        ? `1 of ${trials.length} rungs does not give what it should.`
        : `${failed.length} of ${trials.length} rungs do not give what they should.`;
  return `${asked}\n\n${table}\n\n${verdict}\n`;
}
