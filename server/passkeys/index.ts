/*
 * Sign-in for a team without an identity provider: invitations, passkeys and recovery codes. Other folders import these
 * from here alone.
 */

// Declares its error codes.
import './errors.js';

export { Challenges } from './challenges.js';
export { invitationRoutes } from './invitation-routes.js';
export {
  FIRST_HOURS,
  INVITATION_HOURS,
  type InvitationInput,
  type InvitationRecord,
  Invitations,
  invitationLink,
  invitedPlan,
  MAX_INVITATION_HOURS,
  MAX_PERSON_NAME,
  type NewInvitation,
} from './invitations.js';
export { endedPasskeys, passkeyNotices } from './notices.js';
export { passkeyRoutes } from './passkey-routes.js';
export { type PasskeyRecord, Passkeys } from './passkeys.js';
export { passkeyPersonalRecords } from './personal-records.js';
export { passkeyMigrations } from './tables.js';
