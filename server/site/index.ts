export { renderFailure } from './failure-page.js';
export { devicePageRoutes, siteRoutes } from './routes.js';
