/*
 * The status of the service for the public: its parts now and in the last 24 hours, and incidents. Other folders import
 * these from here alone.
 */

export { CELL_MS, CELLS, type PartState } from './history.js';
export {
  type Incident,
  type IncidentKind,
  type IncidentState,
  Incidents,
  MAX_INCIDENT_TEXT,
  MAX_INCIDENT_TITLE,
  stateOfIncident,
} from './incidents.js';
export type { ServicePart, StatusPart } from './parts.js';
export { openServiceStatus, overallState, type PartHistory, type ServiceReport, ServiceStatus } from './service.js';
