/*
 * The objects of the admin API and of the `--json` output of commands, as schemas: keys, users, orders, transfers, jobs
 * and the audit log. Both have one form, so that a script can change from one to the other.
 */

import { field, optional, Type } from '../../core/contracts/index.js';
import { SharedBudget } from '../budgets/index.js';
import { Count, Nullable, OneOf, Text } from '../http/index.js';
import { OwnLimitsShape } from '../keys/index.js';
import { PlanBudget, USAGE_COUNTS } from '../usage/index.js';

const Texts = Type.Array(Text);
const MaybeText = Nullable(Text);
const Flag = Type.Boolean();
const Amount = Type.Number();
const created = { created_at: field(Text, 'When it was created (RFC 3339).') };
export const changed = { changed: field(Flag, 'Whether the request changed it; otherwise it was so before.') };

export const AuditLine = Type.Object({
  at: field(Text, 'When (RFC 3339).'),
  subject: field(Text, 'What was changed.'),
  number: field(Count, 'Counts from 1 within the subject.'),
  actor: field(Text, 'Who changed it.', 'operator:ann'),
  action: field(Text, 'What was done.', 'key.updated'),
  from: field(MaybeText, 'State before. Null without states.'),
  to: field(MaybeText, 'State after. Null without states.'),
  amount: field(MaybeText, 'Money that was moved, in the currency. Null without money.', '24.00'),
  currency: field(MaybeText, 'Its currency (ISO 4217). Null without money.', 'EUR'),
  note: field(MaybeText, 'The given reason. Null without one.'),
});
const audit = { audit: field(Type.Array(AuditLine), 'The history, newest first.') };
const Left = Type.Object({
  requests: optional(Count, 'Requests. Absent if unlimited.'),
  tokens: optional(Count, 'Tokens. Absent if unlimited.'),
  tokensToday: optional(Count, 'Tokens of this day (UTC). Absent if unlimited.'),
  cost: optional(Amount, 'Money. Absent if unlimited.'),
});
const left = { left: field(Nullable(Left), 'What the budget of the plan has left. Null without one.') };
/** Counts of usage, with their currency. */
export const Charges = Type.Object({
  ...USAGE_COUNTS,
  currency: optional(Text, 'Currency of the costs (ISO 4217). Only if the gateway has prices.'),
});

const keyFields = {
  id: field(Text, 'Id of the key.'),
  name: field(Text, 'Name of the key.'),
  plan: field(MaybeText, 'Id of its plan. Null without a plan.'),
  grants: field(Texts, 'Groups of routes that it may use.'),
  models: field(Nullable(Texts), 'Ids of the models that it may use. Null if all.'),
  rpm: field(Nullable(Count), 'Requests per minute and route family. Null if unlimited.'),
  expires_at: field(MaybeText, 'When it expires (RFC 3339). Null if never.'),
};
const sharing = {
  group: optional(Text, 'Its group. Absent without one.'),
  budgets: optional(Type.Array(SharedBudget), 'Budgets of the key, its account and its group. Absent without any.'),
  priority: optional(Text, 'Order of its jobs. Absent if normal.'),
};
const secret = { key: field(Text, 'The key itself, which is shown only here.') };
const account = { account: field(Text, 'Account that owns it.') };

export const NewKey = Type.Object({
  ...keyFields,
  ...secret,
  account: optional(Text, 'Account that owns it. Absent if none was given.'),
  plan_expires_at: optional(Text, 'When the plan ends (RFC 3339). Absent if never.'),
  ...sharing,
});
export const Key = Type.Object({
  ...keyFields,
  ...account,
  own: optional(OwnLimitsShape, 'What its user allows of the plan. Absent without any such limit.'),
  ...left,
  state: field(Text, '`valid`, or why it is not.'),
  ...created,
  revoked_at: field(MaybeText, 'When it was revoked (RFC 3339). Null if it was not.'),
  last_used_at: field(MaybeText, 'When it was last used (RFC 3339). Null if never.'),
  ...sharing,
  internal: optional(
    Flag,
    'True if pages of the site or a connected agent use it for its account. Absent for other keys.',
  ),
});
export const Keys = Type.Array(Key);
export const KeyDetails = Type.Object({
  ...Key.properties,
  image_daily_limit: field(Nullable(Count), 'Images of a day. Null: the setting of the gateway applies.'),
  suspended_at: field(MaybeText, 'When it was suspended (RFC 3339). Null if it is not.'),
  replaced_by: field(MaybeText, 'Id of the key that replaced it. Null if none did.'),
  budget: field(
    Nullable(Type.Object({ id: field(Text, 'Id of the budget.'), ...PlanBudget.properties })),
    'Budget of its plan. Null without one.',
  ),
  usage_today: field(Charges, 'Usage of this day (UTC).'),
  ...audit,
});
export const RotatedKey = Type.Object({
  ...keyFields,
  ...secret,
  ...account,
  replaces: field(Text, 'Id of the old key.'),
  replaced_key_expires_at: field(MaybeText, 'When the old key ends (RFC 3339).'),
});
export const RevokedKey = Type.Object({
  id: field(Text, 'Id of the key.'),
  revoked: field(Type.Literal(true), 'Always true.'),
});

const userId = { id: field(Text, 'Id of the user.') };
const userState = { state: field(Text, '`active` or `suspended`.') };
export const User = Type.Object({
  ...userId,
  account: field(Text, 'Id of the account.'),
  issuer: field(Text, 'Where the user signs in.'),
  subject: field(Text, 'Identity at the issuer.'),
  email: field(MaybeText, 'Address. Null if not known.'),
  name: field(MaybeText, 'Name. Null if not known.'),
  role: field(OneOf('operator', 'billing', 'member'), 'What the user may do besides the own account.'),
  plan: field(MaybeText, 'Id of the latest plan. Null without one.'),
  plan_expires_at: field(MaybeText, 'When the plan ends or ended (RFC 3339). Null if never.'),
  ...userState,
  ...created,
  last_sign_in_at: field(MaybeText, 'Last sign-in (RFC 3339).'),
  suspended_at: field(MaybeText, 'When the user was suspended (RFC 3339). Null if active.'),
});
export const Users = Type.Array(User);
const orderFields = {
  code: field(Text, 'Code of the order.'),
  plan: field(Text, 'Id of the ordered plan.'),
  state: field(Text, 'State of the order.', 'paid'),
  amount: field(Count, 'Price in the minor unit of the currency.'),
  paid_amount: field(Count, 'What came in, in the minor unit.'),
  currency: field(Text, 'Currency (ISO 4217).'),
  ...created,
};
const { id, name, state, created_at, expires_at, last_used_at } = Key.properties;
const UserKey = Type.Object({ id, name, state, created_at, expires_at, last_used_at });
export const UserDetails = Type.Object({
  ...User.properties,
  ...left,
  keys: field(Type.Array(UserKey), 'Keys of the account.'),
  orders: field(Type.Array(Type.Object(orderFields)), 'Latest orders.'),
  ...audit,
});
export const ChangedUser = Type.Object({ ...userId, ...userState, ...changed });
export const SignedOut = Type.Object({ ...userId, ended: field(Count, 'Number of sessions that were ended.') });
export const PlanOfUser = Type.Object({
  user: field(Text, 'Id of the user.'),
  account: field(Text, 'Id of the account.'),
  plan: field(MaybeText, 'Id of the plan. Null if all plans were ended.'),
  expires_at: field(MaybeText, 'When it ends (RFC 3339). Null if never.'),
});
export const ErasedUser = Type.Object({
  ...userId,
  account: field(Text, 'Id of the account.'),
  erased_at: field(Text, 'When the erasure began (RFC 3339).'),
  ...changed,
});

export const Order = Type.Object({
  ...orderFields,
  account: field(Text, 'Account that ordered.'),
  expires_at: field(MaybeText, 'When it expires unpaid (RFC 3339).'),
  paid_at: field(MaybeText, 'When it was paid (RFC 3339). Null if it is not.'),
  receipt: field(MaybeText, 'Number of its receipt. Null if it was never paid.', '2026-000042'),
});
export const Orders = Type.Array(Order);
export const transferFields = {
  provider: field(Text, 'Who told of the transfer.', 'payos'),
  id: field(Text, "The provider's id of the transfer."),
};
export const moneyFields = {
  ...transferFields,
  amount: field(Type.Integer(), 'Amount in the minor unit of the currency.'),
  currency: field(Text, 'Currency (ISO 4217).'),
  order: field(MaybeText, 'Code of its order. Null if none was found.'),
  review: field(MaybeText, 'Why somebody should look at it. Null if nobody need.'),
};
export const Transfer = Type.Object({
  ...moneyFields,
  text: field(Text, 'Text of the transfer.'),
  booked_at: field(Text, 'When the bank booked it (RFC 3339).'),
  recorded_at: field(Text, 'When the gateway recorded it (RFC 3339).'),
});
export const Transfers = Type.Array(Transfer);
export const OrderDetails = Type.Object({
  ...Order.properties,
  transfers: field(Transfers, 'Transfers for it.'),
  ...audit,
});
const Worker = Type.Object({
  host: field(Text, 'Its host.'),
  pid: field(Count, 'Its process.'),
  ended: field(Flag, 'Whether the process has ended.'),
  seen_at: field(Text, 'Last heartbeat (RFC 3339).'),
  lease_seconds_left: field(Count, 'Seconds until another worker may take the job.'),
});
export const jobFields = {
  id: field(Text, 'Id of the job.'),
  state: field(Text, 'State of the job.', 'running'),
};
export const RetriedJob = Type.Object({ ...jobFields, retry_of: field(Text, 'Id of the failed job.') });
export const Job = Type.Object({
  ...jobFields,
  kind: field(Text, '`image`, `extraction`, `batch` or `transcript`.'),
  account: field(Text, 'Account of its first owner.'),
  joined: field(Count, 'Number of further owners.'),
  key: field(MaybeText, 'Id of the key. Null if none.'),
  runs: field(Count, 'How often it was started.'),
  cut_offs: field(Count, 'How often it was interrupted.'),
  ...created,
  started_at: field(MaybeText, 'When it started (RFC 3339). Null if it did not.'),
  finished_at: field(MaybeText, 'When it ended (RFC 3339). Null if it did not.'),
  age_seconds: field(Count, 'Seconds since it was created.'),
  in_state_seconds: field(Nullable(Count), 'Seconds in this state. Null if not known.'),
  worker: field(Nullable(Worker), 'Who runs it. Null if nobody does.'),
  error: field(MaybeText, 'Code of the error. Null without one.'),
});
export const Jobs = Type.Array(Job);
const Attempt = Type.Object({
  method: field(Text, 'Name of the method.'),
  outcome: field(Text, '`ok`, or the code of its error.'),
  ms: field(Amount, 'Milliseconds.'),
});
const Failure = Type.Object({
  code: field(Text, 'Code of the error.'),
  message: field(Text, 'What went wrong.'),
  param: optional(Text, 'The field it is about.'),
  reason: optional(Text, "The platform's message."),
  retryable: field(Flag, 'Whether a retry may help.'),
  retryAfterSeconds: optional(Amount, 'Seconds to wait before.'),
  platform: optional(Text, 'The platform.'),
  attempts: optional(Type.Array(Attempt), 'Methods that were tried.'),
});
const Charge = Type.Object({
  model: field(Text, 'Id of the model.'),
  units: field(Count, 'Number of images or extractions.'),
  usage: field(Nullable(Type.Object({})), 'Tokens as the model reported them. Null if it did not.'),
  cost: optional(Amount, 'Cost in the currency of the prices. Absent without a known price.'),
  at: field(Text, 'When (RFC 3339).'),
});
export const JobDetails = Type.Object({
  ...Job.properties,
  model: optional(Text, 'Model of an image.'),
  delivery: optional(Text, 'How an image is answered.'),
  platform: optional(Text, 'Platform of an extraction.'),
  item: optional(MaybeText, 'Id of the item of an extraction.'),
  joined_by: field(Texts, 'Accounts of the further owners.'),
  request: field(MaybeText, 'Id of the request. Null if not known.'),
  trace: field(MaybeText, 'Id of its traces. Null without tracing.'),
  expires_at: field(MaybeText, 'Until when it is kept (RFC 3339).'),
  queue_position: field(Nullable(Count), 'Place in the queue. Null if it does not wait.'),
  retry_of: field(MaybeText, 'Id of the failed job whose work it does again. Null if it is no retry.'),
  retried_as: field(MaybeText, 'Id of the job that does its work again. Null if none does.'),
  retryable: field(Flag, 'Whether it can be retried now.'),
  quota_day: field(MaybeText, 'Day of the quota that it used. Null if none.'),
  idempotent_until: field(Texts, 'Until when it answers repeats of its Idempotency-Keys (RFC 3339).'),
  charge: field(Nullable(Charge), 'What it cost. Null if nothing was charged.'),
  failure: field(Nullable(Failure), 'The error with its details. Null without one.'),
  ...audit,
});

export const AlertShape = Type.Object({
  id: field(Text, 'Id of the alert.', 'alr_1f0c93ab'),
  kind: field(Text, 'What kind of condition it is.', 'upstream_down'),
  subject: field(Text, 'What it is about, such as the id of a provider. May be empty.', 'openai_text'),
  state: field(Text, '`open`, `acknowledged` or `closed`.', 'open'),
  title: field(Text, 'What is wrong, in words.'),
  opened_at: field(Text, 'When it opened last (RFC 3339).'),
  seen_at: field(Text, 'When its condition was last met (RFC 3339).'),
  closed_at: field(MaybeText, 'When it closed (RFC 3339). Null before.'),
  times: field(Count, 'How often it has opened.'),
  acknowledged_at: field(MaybeText, 'When an operator acknowledged it (RFC 3339). Null if none did.'),
  acknowledged_by: field(MaybeText, 'Who did.'),
  detail: field(
    Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()])),
    'Values of the condition; which there are depends on the kind.',
  ),
});

export const IncidentShape = Type.Object({
  id: field(Text, 'Id of the incident.', 'inc_1f0c93ab'),
  kind: field(Text, '`outage`, `degraded` or `maintenance`.', 'degraded'),
  title: field(Text, 'What is wrong.'),
  message: field(MaybeText, 'What users notice. Null without one.'),
  state: field(
    MaybeText,
    '`investigating`, `identified`, `monitoring` or `resolved`. Null for maintenance of which no update says it.',
    'identified',
  ),
  updates: field(
    Type.Array(
      Type.Object({
        at: field(Text, 'When it was posted (RFC 3339).'),
        state: field(MaybeText, 'How far the work was. Null if it does not say.', 'identified'),
        text: field(Text, 'What is known.'),
      }),
    ),
    'What was posted after the message, newest first; also how it ended.',
  ),
  outcome: field(MaybeText, 'How it ended. Null without one.'),
  started_at: field(Text, 'When it began or will begin (RFC 3339).'),
  ended_at: field(MaybeText, 'When it ended (RFC 3339). Null while it is open.'),
});

export const QueueShape = Type.Object({
  kind: field(Text, 'Kind of job.', 'image'),
  queued: field(Count, 'Jobs that wait.'),
  running: field(Count, 'Jobs that run.'),
  oldest_queued_seconds: field(Count, 'How long the oldest waits.'),
  completed: field(Count, 'Jobs that were completed in the last hour.'),
  failed: field(Count, 'Jobs that failed in the last hour.'),
  cancelled: field(Count, 'Jobs that were cancelled in the last hour.'),
  paused_at: field(MaybeText, 'Since when no job of the kind is started (RFC 3339). Null if it is not paused.'),
});
