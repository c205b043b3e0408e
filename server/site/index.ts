export { renderFailure } from './page.js';
export { devicePageRoutes, siteRoutes } from './routes.js';
