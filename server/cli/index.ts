export { type Banner, renderBanner, samplesOf, startNotices } from './start.js';
