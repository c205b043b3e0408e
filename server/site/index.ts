/*
 * The web site of the gateway: its pages, also those of errors, and the files they load. Other folders import them
 * here.
 */

export { type Brand, BrandError, loadBrand } from './brand.js';
export { documentationRoutes } from './docs/routes.js';
export { renderFailure } from './failure.js';
export { devicePageRoutes, siteRoutes } from './routes.js';
