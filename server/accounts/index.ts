/*
 * Accounts of the site: users, sign-in, sessions, plans and the issue of keys. Other folders import these from here
 * alone.
 */

// Declares its error codes.
import './errors.js';

export {
  type AccountPlan,
  type AccountRecord,
  grantPlan,
  lockAccount,
  lockAccountOf,
  locked,
  lockKeys,
  type PlanChange,
  type PlanPreview,
  previewPlans,
  refuseSuspended,
  takeBackPlan,
} from './account-plans.js';
export {
  type AccountOverview,
  type AccountView,
  createAccountView,
  encodeAccountKey,
  type OverviewKey,
} from './account-view.js';
export { type Accounts, type AccountsOptions, createAccounts } from './accounts.js';
export { createDeviceGrants, type DeviceGrant, type DeviceGrants, deviceApiRoutes, showUserCode } from './device.js';
export { forgetAllowances, hashIdentity, type IdentitySecrets, keepAllowance } from './erased-allowances.js';
export { createKeyOwners } from './key-owners.js';
export { agentRoutes, endpointsOf } from './manifest.js';
export { createIdentity, createOidcClient, type Identity, type SignInStatus } from './oidc.js';
export {
  type AccountServices,
  createPlay,
  createSessionGuard,
  createSessionService,
  createSessions,
  type SessionService,
  type Sessions,
  type SignedIn,
} from './sessions.js';
export { asItStands, KEY_VARIABLE, modelsForSetup, type SetupClient, setupClients } from './setup.js';
export { createSignIns, type SignIns, signInRoutes, signOutRoutes } from './sign-in.js';
export { accountMigrations, type UserRecord } from './tables.js';
export { MAX_OVERLAP_HOURS, userRoutes } from './user.js';
export { createUsers, type Users, type UsersOptions } from './users.js';
