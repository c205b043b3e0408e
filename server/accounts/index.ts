export { type AccountRow, hasPlan, lockAccount, locked, refuseSuspended } from './account-table.js';
export type { AccountPlan, AccountRecord, PlanPreview } from './accounts.js';
export { type Accounts, type AccountsOptions, createAccounts } from './accounts.js';
export { deviceApiRoutes, showUserCode } from './device-api.js';
export type { DeviceGrant, DeviceGrants } from './device-grants.js';
export { createDeviceGrants } from './device-grants.js';
export { type AccountKeys, createKeyIssue } from './key-issue.js';
export { createKeyService, type KeyService, type KeyServiceOptions, MAX_KEYS } from './key-service.js';
export { agentRoutes, type Endpoint, endpointsOf } from './manifest.js';
export { createIdentity, createOidcClient, type Identity, type SignInStatus } from './oidc.js';
export type { PlanChange } from './plan-change.js';
export { grantPlan, previewPlans } from './plan-grants.js';
export { takeBackPlan } from './plan-take-back.js';
export { asItStands } from './schemas.js';
export type { SessionKind, Sessions, SignedIn } from './session-store.js';
export { createSessions } from './session-store.js';
export {
  createPlay,
  createSessionGuard,
  createSessionService,
  type SessionService,
} from './sessions.js';
export { KEY_VARIABLE, modelsForSetup, type SetupClient, setupClients } from './setup.js';
export { signInRoutes, signOutRoutes } from './sign-in.js';
export { createSignIns, type SignIns } from './sign-ins.js';
export {
  type AccountOverview,
  type AccountView,
  createAccountView,
  type OverviewKey,
  userRoutes,
} from './user.js';
export type { UserRecord, Users } from './users.js';
export { createUsers } from './users.js';
