export { describeUpstreams, type Finding, runChecks, type UpstreamFinding } from './checks.js';
