/*
 * The JSON that the commands for prepaid balances print with `--json`, as schemas. Amounts are decimal numbers as texts,
 * so that no digit is lost.
 */

import { field, optional, Type } from '../../core/contracts/index.js';
import { Balance, ListedBalanceShape, MovementShape } from '../admin/index.js';
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

export const LedgerCheck = Type.Object({
  ok: field(Flag, 'Whether all sums agree.'),
  accounts: field(
    Type.Array(
      Type.Object({
        account: field(Text, '`balances` together, `payments`, `usage`, `adjustments` or `operator_loss`.'),
        currency: field(Text, 'Currency (ISO 4217).'),
        amount: field(Text, 'Sum of its rows.'),
      }),
    ),
    'Accounts of the ledger.',
  ),
  unbalanced: field(Type.Array(Text), 'Movements whose rows do not sum up to 0.'),
  different: field(
    Type.Array(
      Type.Object({
        account,
        balance: field(Text, 'What is in the balance.'),
        ledger: field(Text, 'What the ledger says.'),
      }),
    ),
    'Balances that differ from the ledger.',
  ),
});
