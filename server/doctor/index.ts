/*
 * Checks of an installation, for `mediagate doctor` and the log of the start.
 */

export { describeUpstreams, type Finding, runChecks, type UpstreamFinding } from './checks.js';
