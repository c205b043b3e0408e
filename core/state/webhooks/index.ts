export type { Webhooks } from './webhooks.js';
export { createWebhooks } from './webhooks-sql.js';
