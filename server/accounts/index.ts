export type { PlanChange } from './account-plans.js';
export { grantPlan, lockAccount, locked, previewPlans, refuseSuspended, takeBackPlan } from './account-plans.js';
export type { AccountPlan, AccountRecord, PlanPreview } from './accounts.js';
export { type Accounts, type AccountsOptions, createAccounts } from './accounts.js';
export type { DeviceGrant, DeviceGrants } from './device.js';
export { createDeviceGrants, deviceApiRoutes, showUserCode } from './device.js';
export { type AccountKeys, createKeyIssue } from './key-issue.js';
export { agentRoutes, endpointsOf } from './manifest.js';
export { createIdentity, createOidcClient, type Identity, type SignInStatus } from './oidc.js';
export type { Sessions, SignedIn } from './sessions.js';
export {
  createPlay,
  createSessionGuard,
  createSessionService,
  createSessions,
  type SessionService,
} from './sessions.js';
export { asItStands, KEY_VARIABLE, modelsForSetup, type SetupClient, setupClients } from './setup.js';
export { createSignIns, type SignIns, signInRoutes, signOutRoutes } from './sign-in.js';
export {
  type AccountOverview,
  type AccountView,
  createAccountView,
  type OverviewKey,
  userRoutes,
} from './user.js';
export type { UserRecord, Users } from './users.js';
export { createUsers } from './users.js';
