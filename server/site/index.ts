export { addDevicePageRoutes } from './device-page.js';
export { renderFailure } from './failure-page.js';
export { addSiteRoutes } from './routes.js';
