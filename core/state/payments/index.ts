export type { OrderState, Orders, ReviewReason } from './orders.js';
export { createOrders } from './orders-sql.js';
