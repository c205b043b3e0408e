/*
 * The web site of the gateway: its pages, also those of errors, and the files they load. The console builds its pages
 * from the same parts. Other folders import them here.
 */

export { type Brand, BrandError, loadBrand } from './brand.js';
export { barChart, type ChartBar } from './components/chart.js';
export { dayField } from './components/day-input.js';
export { type Choice, type FilterField, filterCard, linkRow, linkTo } from './components/filters.js';
export { isolated, keyBadge, keyEnd, lastDay } from './components/keys.js';
export { outcomeTabs, requestDetails, requestTable } from './components/request-rows.js';
export { type Column, dataTable, pager } from './components/table.js';
export { documentationRoutes } from './docs/routes.js';
export { renderFailure } from './failure.js';
export { type Locale, localeOf, readTypedDay } from './language/index.js';
export { loadModels, type PriceLine } from './model-views.js';
export {
  badge,
  bar,
  copyableId,
  copyButton,
  copyIcon,
  emptyState,
  type Html,
  type HtmlValue,
  html,
  inline,
  LOW_SHARE,
  PAGE_ROUTE,
  type Page,
  type Tone,
} from './page.js';
export { JOB_TONES, jobBadge } from './pages/dashboard-jobs.js';
export { incidentSteps, openFirst } from './pages/status.js';
export { devicePageRoutes, siteRoutes } from './routes.js';
export { costOf, labelOf, orderBadge, planName, spentOf } from './views.js';
export { sendTo, type Visit } from './visit.js';
