/** `npm run faults [-- scale | restart | limits | hints | bodies | soak | batch | ledger | alerts]`: faults of several nodes, or of image jobs of one node. */

import { refuse } from '../support/processes/program-flags.js';

const PROGRAMS: Readonly<Record<string, () => Promise<unknown>>> = {
  scale: () => import('./run-scale-faults.js'),
  restart: () => import('./run-rolling-restart.js'),
  limits: () => import('./run-shared-limits.js'),
  hints: () => import('./run-hints.js'),
  bodies: () => import('./run-body-attacks.js'),
  soak: () => import('./run-worker-soak.js'),
  batch: () => import('./run-batch-kills.js'),
  ledger: () => import('./run-ledger-kills.js'),
  alerts: () => import('./run-alert-kills.js'),
};

const [word = ''] = process.argv.slice(2);
if (word === '' || word.startsWith('-')) await import('./run-image-faults.js');
else if (Object.hasOwn(PROGRAMS, word)) await PROGRAMS[word]?.();
else refuse(`There are no faults "${word}"; there are: ${Object.keys(PROGRAMS).join(', ')}.`);
