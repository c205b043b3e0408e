/*
 * Alerts for operators: conditions, their state, messages by webhook and e-mail. Other folders import these from here
 * alone.
 */

export { type AlertFilter, Alerts, type Condition } from './alerts.js';
export { channelsOf, OPERATOR_ALERTS, openAlertSender } from './delivery.js';
export { describeAlert } from './messages.js';
export { alertPersonalRecords } from './personal-records.js';
export { ALERT_KINDS, ALERT_STATES, type Alert, type AlertKind, type AlertState, alertMigrations } from './tables.js';
export { ALERT_WORDS, titleOf } from './texts.js';
export { openAlerts } from './watch.js';
