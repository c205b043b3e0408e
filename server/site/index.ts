export { renderFailure } from './failure-page.js';
export { addDevicePageRoutes, addSiteRoutes } from './routes.js';
