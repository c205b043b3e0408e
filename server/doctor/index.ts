export { type Finding, runChecks } from './checks.js';
