export { BankStatementError, readBankStatement } from './bank-statement.js';
export type { OrderRecord, OrderState, Orders, RecordedTransaction, Recording, ReviewReason } from './orders.js';
export { createOrders } from './orders.js';
export { PaymentBodySchema, paymentPath } from './payment.js';
export {
  createPaymentDesk,
  isOpen,
  type PaymentDesk,
  type PaymentDeskOptions,
  type PaymentTransfer,
} from './payment-desk.js';
export { PAYMENT_FORMATS, type PaymentReceiver, type ReceiverSettings, readReceiver } from './payment-receiver.js';
export { addPaymentRoutes } from './payment-routes.js';
export { type PaymentSecrets, readPaymentSecrets } from './payment-secrets.js';
export { addPaymentStatusRoute } from './payment-status.js';
export { startPaymentSweep } from './payment-sweep.js';
export { addPaymentWebhookRoute } from './payment-webhooks.js';
