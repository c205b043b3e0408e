/*
 * The JSON that commands print with `--json`, as schemas. A declaration names its shape, so that help and completion do
 * not load this file; the types of what the commands print come from here, and docs/reference/cli.md lists the fields.
 * Objects that routes answer too have the schemas of those routes.
 */

import { field, optional, Type } from '../../core/contracts/index.js';
import { SharedBudget } from '../budgets/index.js';
import { Count, Nullable, OneOf, Text } from '../http/index.js';
import { OwnLimitsShape } from '../keys/index.js';
import type { Catalogue } from '../plans/index.js';
import { PlanBudget, USAGE_COUNTS } from '../usage/index.js';

export { BlockedLinks, Incident, Incidents } from './service-shapes.js';

const Texts = Type.Array(Text);
const MaybeText = Nullable(Text);
const Flag = Type.Boolean();
const Amount = Type.Number();
const always = field(Type.Literal(true), 'Always true.');
const created = { created_at: field(Text, 'When it was created (RFC 3339).') };
const changed = { changed: field(Flag, 'Whether the command changed it; otherwise it was so before.') };

const Audit = Type.Array(
  Type.Object({
    at: field(Text, 'When (RFC 3339).'),
    subject: field(Text, 'What was changed.'),
    number: field(Count, 'Counts from 1 within the subject.'),
    actor: field(Text, 'Who changed it.', 'operator:ann'),
    action: field(Text, 'What was done.', 'key.updated'),
    from: field(MaybeText, 'State before. Null without states.'),
    to: field(MaybeText, 'State after. Null without states.'),
    note: field(MaybeText, 'The given reason. Null without one.'),
  }),
);
const audit = { audit: field(Audit, 'The history, newest first.') };
const Left = Type.Object({
  requests: optional(Count, 'Requests. Absent if unlimited.'),
  tokens: optional(Count, 'Tokens. Absent if unlimited.'),
  tokensToday: optional(Count, 'Tokens of this day (UTC). Absent if unlimited.'),
  cost: optional(Amount, 'Money. Absent if unlimited.'),
});
const left = { left: field(Nullable(Left), 'What the budget of the plan has left. Null without one.') };
const Counts = Type.Object({
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

export const ChangedLink = Type.Object({
  url: field(Text, 'Canonical URL of the item.'),
  blocked: field(Flag, 'Whether it is blocked now.'),
  ...changed,
});
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
  internal: optional(Flag, 'True if pages of the site use it for its account. Absent for other keys.'),
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
  usage_today: field(Counts, 'Usage of this day (UTC).'),
  ...audit,
});
export const RotatedKey = Type.Object({
  ...keyFields,
  ...secret,
  ...account,
  replaces: field(Text, 'Id of the old key.'),
  replaced_key_expires_at: field(MaybeText, 'When the old key ends (RFC 3339).'),
});
export const RevokedKey = Type.Object({ id: field(Text, 'Id of the key.'), revoked: always });

const groupName = field(Text, 'Name of the group.');
const shared = { budgets: field(Type.Array(SharedBudget), 'Its budgets.') };
export const NewGroup = Type.Object({ name: groupName, ...shared });
export const ChangedBudgets = Type.Object({
  group: optional(Text, 'The group. Absent if the budgets are those of an account.'),
  account: optional(Text, 'The account. Absent if the budgets are those of a group.'),
  ...shared,
});
export const DeletedGroup = Type.Object({ name: groupName, deleted: always });
const groupFields = { name: groupName, ...created, ...shared };
export const Groups = Type.Array(Type.Object({ ...groupFields, keys: field(Count, 'Number of its keys.') }));
const GroupKey = Type.Object({
  id: field(Text, 'Id of the key.'),
  name: field(Text, 'Name of the key.'),
  usage_this_month: field(Counts, 'Usage of this month (UTC).'),
});
export const GroupDetails = Type.Object({ ...groupFields, keys: field(Type.Array(GroupKey), 'Its keys.') });
export const Budgets = Type.Array(
  Type.Object({
    id: field(Text, 'Id of the key, or name of the account or group.'),
    key_name: optional(Text, 'Name of the key. Absent if it is no budget of a key.'),
    ...SharedBudget.properties,
  }),
);

const column = (what: string) => optional(MaybeText, `${what}. Absent if \`--by\` leaves it out.`);
export const UsageRows = Type.Array(
  Type.Object({
    day: column('Day by UTC'),
    key: column('Id of the key'),
    name: column('Name of the key; null if it is deleted'),
    account: column('Account of the key'),
    group: column('Group of the key; null without one'),
    route: column('Path of the route'),
    model: column('Id of the model; for link data the platform'),
    ...Counts.properties,
  }),
);

const userId = { id: field(Text, 'Id of the user.') };
const userState = { state: field(Text, '`active` or `suspended`.') };
export const User = Type.Object({
  ...userId,
  account: field(Text, 'Id of the account.'),
  issuer: field(Text, 'Where the user signs in.'),
  subject: field(Text, 'Identity at the issuer.'),
  email: field(MaybeText, 'Address. Null if not known.'),
  name: field(MaybeText, 'Name. Null if not known.'),
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
export const ErasedUser = Type.Object({
  ...userId,
  account: field(Text, 'Id of the account.'),
  erased_at: field(Text, 'When the erasure began (RFC 3339).'),
  ...changed,
});

export const Plans = Type.Unsafe<Catalogue>({
  type: 'object',
  description: 'Plans, free tier, prices, grants and budgets as the gateway read them; see [Plans](plans.md).',
});
export const GrantedPlan = Type.Object({
  user: field(Text, 'Id of the user.'),
  account: field(Text, 'Id of the account.'),
  plan: field(Text, 'Id of the plan.'),
  expires_at: field(MaybeText, 'When it ends (RFC 3339). Null if never.'),
});

export const Order = Type.Object({
  ...orderFields,
  account: field(Text, 'Account that ordered.'),
  expires_at: field(MaybeText, 'When it expires unpaid (RFC 3339).'),
  paid_at: field(MaybeText, 'When it was paid (RFC 3339). Null if it is not.'),
  receipt: field(MaybeText, 'Number of its receipt. Null if it was never paid.', '2026-000042'),
});
export const Orders = Type.Array(Order);
const transferFields = {
  provider: field(Text, 'Who told of the transfer.', 'payos'),
  id: field(Text, "The provider's id of the transfer."),
};
const money = {
  ...transferFields,
  amount: field(Type.Integer(), 'Amount in the minor unit of the currency.'),
  currency: field(Text, 'Currency (ISO 4217).'),
  order: field(MaybeText, 'Code of its order. Null if none was found.'),
  review: field(MaybeText, 'Why somebody should look at it. Null if nobody need.'),
};
const Transfers = Type.Array(
  Type.Object({
    ...money,
    text: field(Text, 'Text of the transfer.'),
    booked_at: field(Text, 'When the bank booked it (RFC 3339).'),
    recorded_at: field(Text, 'When the gateway recorded it (RFC 3339).'),
  }),
);
export const OrderDetails = Type.Object({
  ...Order.properties,
  transfers: field(Transfers, 'Transfers for it.'),
  ...audit,
});
export const Reviews = Type.Union([
  Transfers,
  Type.Object({
    ...transferFields,
    settled: field(Type.Literal(true), 'Always true. With a transfer, only this object.'),
  }),
]);
export const Imported = Type.Array(
  Type.Object({
    ...money,
    state: field(MaybeText, 'State of the order. Null without one.'),
    replayed: field(Flag, 'Whether it was counted before.'),
  }),
);

export const Models = Type.Array(
  Type.Object({
    id: field(Text, 'Id of the model.'),
    kind: field(Text, '`text`, `image` or `audio`.'),
    provider: field(Text, 'Entry of the plugins file that serves it.'),
    mock: field(Flag, 'Whether a mock answers.'),
    upstreams: field(
      Type.Array(
        Type.Object({
          name: optional(Text, 'Name of the upstream.'),
          url: field(Text, 'Address.'),
          model: field(Text, "The upstream's name of the model."),
        }),
      ),
      'Servers of a text model.',
    ),
    context_length: field(Nullable(Count), 'Tokens of input and output together. Null if not stated.'),
    routes: field(Texts, 'Routes that it answers on.'),
  }),
);
const advice = { advice: optional(Text, 'The remedy. Absent if none is needed.') };
export const ModelTests = Type.Array(
  Type.Object({ ok: field(Flag, 'Whether it works.'), detail: field(Text, 'What was found.'), ...advice }),
);
export const AddedModel = Type.Object({
  id: field(Text, 'Id of the model.'),
  provider: field(Text, 'Entry of the plugins file.'),
  file: field(Text, 'The plugins file.'),
  model: optional(
    Type.Object({
      id: field(Text, 'Id of the model.'),
      upstream: optional(Text, 'Its upstream.'),
      model: optional(Text, "The server's name of the model."),
      routes: optional(Texts, 'Its routes.'),
      contextLength: optional(Count, 'Tokens of input and output together.'),
    }),
    'What was added. Absent if the model existed.',
  ),
  upstream: optional(
    Type.Object({ name: optional(Text, 'Name of the upstream.'), url: optional(Text, 'Its address.') }),
    'The server that was added to a model that existed.',
  ),
});

const Worker = Type.Object({
  host: field(Text, 'Its host.'),
  pid: field(Count, 'Its process.'),
  ended: field(Flag, 'Whether the process has ended.'),
  seen_at: field(Text, 'Last heartbeat (RFC 3339).'),
  lease_seconds_left: field(Count, 'Seconds until another worker may take the job.'),
});
const jobId = { id: field(Text, 'Id of the job.') };
const jobState = { state: field(Text, 'State of the job.', 'running') };
const Job = Type.Object({
  ...jobId,
  kind: field(Text, '`image` or `extraction`.'),
  ...jobState,
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
  quota_day: field(MaybeText, 'Day of the quota that it used. Null if none.'),
  idempotent_until: field(Texts, 'Until when it answers repeats of its Idempotency-Keys (RFC 3339).'),
  charge: field(Nullable(Charge), 'What it cost. Null if nothing was charged.'),
  failure: field(Nullable(Failure), 'The error with its details. Null without one.'),
  ...audit,
});
export const CancelledJob = Type.Object({ ...jobId, ...jobState, ...changed });

const Upstream = Type.Object({
  name: field(Text, 'Name in the log.'),
  isCoolingDown: field(Flag, 'Whether it pauses after failures.'),
  tries: field(Count, 'Requests since the start.'),
  failures: field(Count, 'Those that failed.'),
});
export const Plugins = Type.Array(
  Type.Object({
    id: field(Text, 'Id of the entry.'),
    plugin: field(Text, 'Name of the plugin.'),
    summary: field(Text, 'What it does.'),
    state: field(Text, '`ready`, `failed`, `disabled`, `loading` or `disposed`.'),
    reason: optional(Text, 'Why it failed or is disabled.'),
    badVariable: optional(Text, 'Environment variable that caused the failure.'),
    unmet: optional(Text, 'What this machine lacks: `browser` or `ffmpeg`.'),
    variables: field(
      Type.Object({
        names: field(Texts, 'Variables that the entry names.'),
        switchOff: field(Texts, 'Variables that enable entries in place of this one.'),
      }),
      'Environment variables.',
    ),
    provides: field(Texts, 'Kinds of what it provides.'),
    serves: field(Texts, 'Platforms and models that it serves.'),
    standIn: field(Flag, 'Whether it only replaces a provider that is not configured.'),
    required: field(Flag, 'Whether the gateway does not start without it.'),
    upstreams: field(Type.Array(Upstream), 'Its upstreams, if it reports them.'),
  }),
);
export const WrittenSettings = Type.Object({
  file: field(Text, 'The settings file.'),
  settings: field(Texts, 'Names of the settings that were written or removed.'),
});

export const Findings = Type.Array(
  Type.Object({
    name: field(Text, 'What was checked.'),
    level: field(
      OneOf('ok', 'warn', 'fail'),
      '`warn`: something optional is missing; `fail`: the gateway will not work.',
    ),
    detail: field(Text, 'What was found.'),
    ...advice,
  }),
);
const MethodTrials = Type.Array(
  Type.Object({
    platform: field(Text, 'Key of the platform.'),
    url: field(Text, 'The link.'),
    method: field(Text, 'Name of the method.'),
    level: field(
      OneOf('ok', 'fail', 'info', 'skip'),
      '`info`: nothing is expected of the method; `skip`: it was not called.',
    ),
    outcome: field(Text, '`ok`, `skipped`, `not set up`, or the code of the error.'),
    ms: field(Count, 'Milliseconds.'),
    filled: field(Texts, 'Fields of the document that it filled, dotted.'),
    missing: field(Texts, 'Expected fields that it did not fill.'),
    reason: optional(Text, 'The message if it failed.'),
  }),
);

const MediaTrials = Type.Array(
  Type.Object({
    platform: field(Text, 'Key of the platform.'),
    url: field(Text, 'The link.'),
    document: field(Text, '`ok`, or the error code of a link that cannot be read.'),
    method: field(MaybeText, '`extraction_method` of the document. Null without one.'),
    file: field(MaybeText, 'What the file is. Null if there is none to ask for.', 'video 720p'),
    level: field(OneOf('ok', 'fail', 'info'), '`info`: nothing is expected of the link.'),
    status: field(Text, '`ok`, `no files`, or the error code.'),
    ms: field(Count, 'Milliseconds: of the file, or without one of the document.'),
    reason: optional(Text, 'The message if it failed.'),
  }),
);

export const Probe = Type.Object({
  at: field(Text, 'When it ended (RFC 3339).'),
  stored: field(Flag, 'Whether the results are stored for `/health` and the metrics.'),
  methods: field(MethodTrials, 'Each method of the platform of each link.'),
  media: field(MediaTrials, 'Each media file of each link that a person would download.'),
});
