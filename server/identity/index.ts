/*
 * Sign-in for agents: the gateway as authorization server for `/mcp` (OAuth). Other folders import these from here alone.
 */

// Declares its error codes.
import './errors.js';

export { AgentTokens, createAgentAuth } from './agent-tokens.js';
export { type ApplicationSignIn, ApplicationSignIns } from './application-sign-ins.js';
export { applicationSecret } from './applications.js';
export { Artifacts } from './artifacts.js';
export {
  type AccessRequest,
  type AgentSignInStores,
  AuthorizationServer,
} from './authorization-server.js';
export { type ConnectionRecord, Connections } from './connections.js';
export { CONSENT_PATH } from './paths.js';
export { identityPersonalRecords } from './personal-records.js';
export { Programs } from './programs.js';
export { identityRoutes } from './routes.js';
export { identityMigrations } from './tables.js';
