/*
 * The ledger of prepaid balances: movements, statements and sums. Other folders import these from here alone.
 */

export { createMovementScript, type Movement, type MovementKind } from './movements.js';
export { ledgerPersonalRecords } from './personal-records.js';
export { decimal, Ledger, type LedgerSums, type StatementLine } from './statement.js';
export { ledgerMigrations } from './tables.js';
