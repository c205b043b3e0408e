export { type AccountRow, hasPlan, lockAccount, locked, refuseSuspended } from './account-table.js';
export type { AccountPlan, AccountRecord, PlanPreview } from './accounts.js';
export { type Accounts, type AccountsOptions, createAccounts } from './accounts.js';
export { addDeviceApiRoutes, showUserCode } from './device-api.js';
export type { DeviceGrant, DeviceGrants } from './device-grants.js';
export { createDeviceGrants } from './device-grants.js';
export { type AccountKeys, createKeyIssue } from './key-issue.js';
export { createKeyDesk, type KeyDesk, type KeyDeskOptions, MAX_KEYS } from './key-service.js';
export { addAgentRoutes, type Endpoint, GATEWAY_ENDPOINTS, SITE_ENDPOINTS } from './manifest.js';
export { createIdentity, createOidcClient, type Identity, type SignInStatus } from './oidc.js';
export type { PlanChange } from './plan-change.js';
export { grantPlan, previewPlans } from './plan-grants.js';
export { takeBackPlan } from './plan-take-back.js';
export type { SessionKind, Sessions, SignedIn } from './session-store.js';
export { createSessions } from './session-store.js';
export {
  createPlay,
  createSameOriginGuard,
  createSessionDesk,
  createSignedInGuard,
  type SessionDesk,
} from './sessions.js';
export { KEY_VARIABLE, modelsForSetup, type SetupClient, setupClients } from './setup.js';
export { addSignInRoutes, addSignOutRoutes, createLoginNotice } from './sign-in.js';
export { createSignIns, type SignIns } from './sign-ins.js';
export {
  type AccountOverview,
  type AccountView,
  addUserRoutes,
  createAccountView,
  KeyBodySchema,
  type OverviewKey,
  RotationBodySchema,
} from './user.js';
export type { UserRecord, Users } from './users.js';
export { createUsers } from './users.js';
