/*
 * Checks of an installation, for `mediagate doctor` and the log of the start.
 */

export { type Finding, runChecks } from './checks.js';
export { describeUpstreams } from './upstream-findings.js';
