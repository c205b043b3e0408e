export { type Finding, runChecks } from './checks.js';
export { describeUpstreams, type UpstreamFinding } from './upstreams.js';
