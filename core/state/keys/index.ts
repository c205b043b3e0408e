export type { ApiKeyRecord, ApiKeys, Grant, KeyPlan } from './api-keys.js';
export { createApiKeys } from './api-keys-sql.js';
