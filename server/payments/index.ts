/*
 * Payment orders and bank transfers, for the routes, the CLI and the site. Other folders import these from here alone.
 */

// Declares its error codes.
import './errors.js';

export { balanceRoutes } from './balance-routes.js';
export { type BankAppLink, bankAppLinks } from './bank-apps.js';
export { BankStatementError, readBankStatement } from './bank-statement.js';
export { paymentWebhookRoutes } from './bank-webhook-routes.js';
export { isOrderCode } from './order-changes.js';
export type {
  OrderRecord,
  OrderState,
  RecordedTransaction,
  Recording,
} from './order-records.js';
export { Orders, paymentMigrations } from './orders.js';
export { paymentPath } from './payment.js';
export { paymentRoutes, paymentStatusRoutes } from './payment-routes.js';
export {
  isOpen,
  type PaymentSecrets,
  PaymentService,
  type PaymentTransfer,
  readPaymentSecrets,
  startPaymentSweep,
} from './payment-service.js';
export { paymentPersonalRecords } from './personal-records.js';
export { receiptName } from './receipts.js';
export { PAYMENT_FORMATS, type PaymentReceiver, type ReceiverSettings, readReceiver } from './transfer-qr.js';
