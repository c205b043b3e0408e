import { type Finding, runChecks } from '../doctor/index.js';
import type { Settings } from '../settings/index.js';
import { openQuietLogger, print, printJson } from './command.js';

/** Reports what works and what to install. Exit code 1 if the gateway would not work. */
export async function doctorCommand(settings: Settings, { json }: { json?: boolean }): Promise<number> {
  const logger = openQuietLogger(settings);
  try {
    const findings = await runChecks(settings, process.env, logger);
    if (json) printJson(findings);
    else print(findings.map(render).join(''));
    return findings.some(({ level }) => level === 'fail') ? 1 : 0;
  } finally {
    await logger.close();
  }
}

function render({ name, level, detail, advice }: Finding): string {
  const line = `${level.padEnd(4)}  ${name.padEnd(12)}  ${detail}\n`;
  return advice ? `${line}${' '.repeat(20)}${advice}\n` : line;
}
