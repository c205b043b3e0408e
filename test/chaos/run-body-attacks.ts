/** `npm run faults -- bodies`: attacks with slow and with hostile bodies; exits with 1 if a promise was broken. */

import { readFlags } from '../support/processes/program-flags.js';
import { attackByReplacing, attackQueue, attackSlowly, attackWithBodies } from './body-attacks.js';

const { seconds } = readFlags({
  command: 'npm run faults -- bodies',
  flags: { seconds: { default: 20, least: 1 } },
  words: { name: 'what', most: 1 },
});

const MEGABYTE = 1024 * 1024;
const slow = await attackSlowly({ connections: 2_000, ofAccount: 30, requests: 200 });
console.log('2,000 slow connections of 8 networks and 30 of one account:', JSON.stringify(slow, undefined, 2));
const broken = [
  ...(Object.keys(slow.attacked.statuses).join() === '200' ? [] : ['slow bodies kept others out']),
  ...(slow.attacked.p99 <= Math.max(3 * slow.quiet.p99, 50) ? [] : ['slow bodies delayed others']),
];
const ofBank = await attackByReplacing(60);
console.log('Bodies that are replaced every 0.85 s from three networks; answers to a bank in a fourth:', ofBank);
if (['0', '408', '429', '503'].some((status) => (ofBank[status] ?? 0) > 0))
  broken.push('replaced bodies kept others out');
const ofOther = await attackQueue(30);
console.log('200 connections of one account with short bodies for the threads; large chats of another:', ofOther);
if (Object.keys(ofOther).join() !== '200') broken.push('the queue of the parser kept others out');
for (const isWindowOpen of [false, true]) {
  const hostile = await attackWithBodies({ ms: seconds * 1_000, isWindowOpen });
  const name = isWindowOpen ? 'Hostile bodies, without the window of refused bodies' : 'Hostile bodies';
  console.log(
    `${name}: ${Math.round(hostile.extraBytes / MEGABYTE)} MiB above rest`,
    JSON.stringify(hostile, undefined, 2),
  );
  if (hostile.live.p99 > 100) broken.push(`${name}: /health/live p99 ${Math.round(hostile.live.p99)} ms`);
  if (hostile.extraBytes > 500 * MEGABYTE) broken.push(`${name}: memory`);
  if (Object.keys(hostile.others.statuses).some((status) => !['200', '202'].includes(status)))
    broken.push(`${name}: refusals of others`);
  if (!hostile.isAlive) broken.push(`${name}: the gateway ended`);
}
console.log(broken.length === 0 ? 'All promises kept.' : `Broken: ${broken.join('; ')}`);

/** A bank without the right signature is answered 401, but answered. */ process.exitCode = broken.length === 0 ? 0 : 1;
