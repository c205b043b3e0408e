/*
 * The admin API: who may use it, its routes, and the functions behind them, which the console and the commands use too.
 * Each file is one subject: the functions that read and change it, its form for programs, its routes.
 */

import type { Route } from '../http/index.js';
import { alertRoutes } from './alerts.js';
import { auditRoutes } from './audit.js';
import { balanceRoutes } from './balances.js';
import { groupRoutes } from './groups.js';
import { incidentRoutes } from './incidents.js';
import { jobRoutes } from './jobs.js';
import { keyRoutes } from './keys.js';
import { linkRoutes } from './links.js';
import { modelChangeRoutes } from './models/model-change-routes.js';
import { modelTestRoutes } from './models/model-tests.js';
import { modelRoutes } from './models/models.js';
import { orderRoutes } from './orders.js';
import { overviewRoutes } from './overview.js';
import { planRoutes } from './plans.js';
import { requestRoutes } from './requests.js';
import type { AdminServices } from './services.js';
import { settingRoutes } from './settings.js';
import { usageRoutes } from './usage.js';
import { userRoutes } from './users.js';

export { type AdminAccess, createAdminGuard } from './access.js';
export type { AdminActor } from './admin-route.js';
export { acknowledgeAlert, listAlerts } from './alerts.js';
export { type AuditFilter, auditDays, encodeAuditEntry, listAudit } from './audit.js';
export {
  adjustBalance,
  allowTopUps,
  Balance,
  checkLedger,
  describeBalance,
  describeListedBalance,
  describeMovement,
  LedgerCheck,
  type ListedBalance,
  ListedBalanceShape,
  listBalances,
  MovementShape,
  resumeBalance,
  showBalance,
  type WholeBalance,
} from './balances.js';
export { deleteGroup, type ListedGroup, listGroups, makeGroup, setBudgets, showGroup } from './groups.js';
export { closeIncident, describeIncident, listIncidents, renameIncident, updateIncident } from './incidents.js';

export {
  cancelJob,
  describeJob,
  describeWholeJob,
  failureOf,
  inState,
  type JobFilter,
  type JobListPage,
  listJobs,
  type Moment,
  pauseJobs,
  type Queue,
  readQueues,
  retryJob,
  showJob,
  traceOf,
  type WholeJob,
  workOf,
} from './jobs.js';
export { changeKey, makeKey } from './key-inputs.js';
export { changedGrants, checkCurrency, checkName, limitRpm, newGrants, parseBudgets } from './key-rules.js';
export {
  describeCounts,
  describeKey,
  describeWholeKey,
  encodeSharing,
  inspectKey,
  type KeyFilter,
  type ListedKey,
  listKeys,
  revokeKey,
  rotateKey,
  showKey,
  stateOfKey,
  type WholeKey,
} from './keys.js';
export { BlockedLink, listBlockedLinks } from './links.js';
export { decodeCursor, encodeCursor, type ListPage, type ListPlace, type ListRange } from './lists.js';
export {
  addModel,
  changeModel,
  findModel,
  type ModelChangeInput,
  removeModel,
  weighable,
} from './models/model-changes.js';
export { type ModelTest, testModel, testServedModel } from './models/model-tests.js';
export {
  type ListedModel,
  latenciesOf,
  listModels,
  ModelShape,
  PluginShape,
  type WatchedModel,
  watchModels,
} from './models/models.js';
export {
  changeOrder,
  describeOrder,
  describeTransfer,
  describeWholeOrder,
  listOrders,
  listTransfers,
  type OrderFilter,
  showOrder,
  type WholeOrder,
} from './orders.js';
export { type Overview, type OverviewServices, RecentUsage, readOverview } from './overview.js';
export { PlanCatalogue } from './plans.js';
export { type AdminRequestFilter, listRequests } from './requests.js';
export type { AdminDependencies, AdminServices } from './services.js';
export { checkProcess } from './settings.js';
export {
  AlertShape,
  ChangedUser,
  Charges,
  ErasedUser,
  IncidentShape,
  JobDetails,
  Jobs,
  jobFields,
  Key,
  KeyDetails,
  Keys,
  moneyFields,
  NewKey,
  Order,
  OrderDetails,
  Orders,
  RetriedJob,
  RevokedKey,
  RotatedKey,
  SignedOut,
  Transfers,
  transferFields,
  User,
  UserDetails,
  Users,
} from './shapes.js';
export { sumUsage } from './usage.js';
export {
  changeUser,
  describeUser,
  describeWholeUser,
  endPlan,
  findUser,
  type ListedUser,
  listUsers,
  setPlan,
  showUser,
  stateOfUser,
  type UserFilter,
  type WholeUser,
} from './users.js';

/** The routes of the admin API; those of invitations need a site. */
export function adminRoutes(services: AdminServices): Route[] {
  return [
    ...overviewRoutes(services),
    ...userRoutes(services),
    ...planRoutes(services),
    ...orderRoutes(services),
    ...balanceRoutes(services),
    ...keyRoutes(services),
    ...groupRoutes(services),
    ...usageRoutes(services),
    ...requestRoutes(services),
    ...jobRoutes(services),
    ...modelRoutes(services),
    // Before the routes of one model, since its path has the form of an id.
    ...modelTestRoutes(services),
    ...modelChangeRoutes(services),
    ...settingRoutes(services),
    ...alertRoutes(services),
    ...auditRoutes(services),
    ...incidentRoutes(services),
    ...linkRoutes(services),
  ];
}
export {
  describeInvitation,
  INVITED_ROLES,
  invitationFields,
  invite,
  inviteRoutes,
  type ListedApplication,
  listApplications,
} from './sign-in.js';
