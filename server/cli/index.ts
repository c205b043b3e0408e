export { type Banner, renderBanner } from './banner.js';
export { samplesOf } from './first-requests.js';
export { startNotices } from './start-notices.js';
