/*
 * Accounts of the site: users, sign-in, sessions, plans and the issue of keys. Other folders import these from here
 * alone.
 */

// Declares its error codes.
import './errors.js';

export {
  type BalanceEligibility,
  type BalanceState,
  type BalanceSum,
  Balances,
  takeBackTopUp,
  topUpAccount,
} from './account-balances.js';
export {
  type AccountPlan,
  type AccountRecord,
  grantPlan,
  lockAccount,
  locked,
  type PlanChange,
  type PlanPreview,
  previewPlans,
  refuseSuspended,
  takeBackPlan,
} from './account-plans.js';
export {
  type AccountOverview,
  AccountView,
  type OverviewKey,
} from './account-view.js';
export { Accounts, type AccountsOptions } from './accounts.js';
export { agentClients } from './agent-clients.js';
export { forgetAllowances, hashIdentity, type IdentitySecrets } from './erased-allowances.js';
export { groupKeyRoutes, readSharedGroups, type SharedGroup } from './group-keys.js';
export { MAX_OVERLAP_HOURS } from './key-bodies.js';
export { createKeyOwners } from './key-owners.js';
export { agentRoutes, endpointsOf } from './manifest.js';
export { encodeTopUps, ModelRateSchema, type PayAsYouGoOffer, TopUpSchema } from './pay-as-you-go-view.js';
export { accountPersonalRecords } from './personal-records.js';
export { readInputDays, requestInputRoutes } from './request-inputs.js';
export { changeRole, hasOperator, keepOperator, lockOperators } from './roles.js';
export { asItStands, KEY_VARIABLE, modelsForSetup, type SetupClient, SupportSchema, setupClients } from './setup.js';
export { type DeviceGrant, DeviceGrants, deviceApiRoutes, showUserCode } from './sign-in/device.js';
export { Identity, type PasskeyStatus, type SignInApp, type SignInStatus } from './sign-in/identity.js';
export { OidcClient } from './sign-in/oidc.js';
export {
  type AccountServices,
  bearerOf,
  createPlay,
  createSessionGuard,
  refuseOtherSites,
  SessionService,
  Sessions,
  type SignedIn,
} from './sign-in/sessions.js';
export { SignIns, signInRoutes, signOutRoutes } from './sign-in/sign-in.js';
export { accountMigrations, type UserRecord, type UserRole } from './tables.js';
export { userRoutes } from './user.js';
export { createUser, lockUser, newUserId, Users } from './users.js';
