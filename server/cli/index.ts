/*
 * What other parts of the server use of the command line: the banner and the notices of a start.
 */

export { type Banner, renderBanner, samplesOf, startNotices } from './start.js';
