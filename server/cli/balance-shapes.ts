/*
 * The JSON that the commands for prepaid balances print with `--json`, as schemas. Amounts are decimal numbers as texts,
 * so that no digit is lost.
 */

import { field, optional, Type } from '../../core/contracts/index.js';
import { Balance, ListedBalanceShape, MovementShape } from '../admin/index.js';

export { LedgerCheck } from '../admin/index.js';

import { Text } from '../http/index.js';

const Flag = Type.Boolean();
const account = field(Text, 'Id of the account.');

export const Balances = Type.Array(ListedBalanceShape);

export const BalanceDetails = Type.Object({
  ...Balance.properties,
  statement: field(Type.Array(MovementShape), 'Its latest 20 movements, newest first.'),
});

export const BalanceChange = Type.Object({
  account,
  may_top_up: optional(Flag, 'Whether it may top up now.'),
  moved: optional(Text, 'What was added; below 0 is what was taken away.'),
  changed: optional(Flag, 'Whether the command changed it; otherwise it was so before.'),
});

export const BalanceStatement = Type.Object({ csv: field(Text, 'The statement as CSV (RFC 4180), oldest first.') });
