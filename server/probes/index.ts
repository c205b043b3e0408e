/*
 * The results of live probes. Other folders import these from here alone.
 */

export { type ProbeResult, ProbeResults, probeMigrations } from './probe-results.js';
