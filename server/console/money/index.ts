/*
 * The pages of the console about money: orders, transfers of banks, and prepaid balances. Users with the role `billing`
 * see these too.
 */

export { balancePages } from './balances.js';
export { differenceOf, orderPages, ordersOfUser } from './orders.js';
export { transferPages } from './transfers.js';
