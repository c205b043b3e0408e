/*
 * The JSON that commands print with `--json`, as schemas. A declaration names its shape, so that help and completion do
 * not load this file; the types of what the commands print come from here, and docs/reference/cli.md lists the fields.
 * Objects that routes answer too have the schemas of those routes.
 */

import { field, optional, Type } from '../../core/contracts/index.js';
import {
  AlertShape,
  BlockedLink,
  Charges,
  IncidentShape,
  invitationFields,
  jobFields,
  ModelShape,
  moneyFields,
  PlanCatalogue,
  PluginShape,
  Transfers,
  transferFields,
} from '../admin/index.js';
import { SharedBudget } from '../budgets/index.js';
import { Count, Nullable, OneOf, Text } from '../http/index.js';

export {
  ChangedUser,
  ErasedUser,
  JobDetails,
  Jobs,
  Key,
  KeyDetails,
  Keys,
  NewKey,
  Order,
  OrderDetails,
  Orders,
  RetriedJob,
  RevokedKey,
  RotatedKey,
  SignedOut,
  User,
  UserDetails,
  Users,
} from '../admin/index.js';
export { BalanceChange, BalanceDetails, BalanceStatement, Balances, LedgerCheck } from './balance-shapes.js';

const Texts = Type.Array(Text);
const MaybeText = Nullable(Text);
const Flag = Type.Boolean();
const always = field(Type.Literal(true), 'Always true.');
const created = { created_at: field(Text, 'When it was created (RFC 3339).') };
const changed = { changed: field(Flag, 'Whether the command changed it; otherwise it was so before.') };

export const ChangedLink = Type.Object({
  url: field(Text, 'Canonical URL of the item.'),
  blocked: field(Flag, 'Whether it is blocked now.'),
  ...changed,
});
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
  usage_this_month: field(Charges, 'Usage of this month (UTC).'),
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
    ...Charges.properties,
  }),
);

export const SignInApps = Type.Object({
  issuer: field(Text, 'Issuer, as applications ask for it.'),
  configuration_url: field(Text, 'Address of its metadata.'),
  applications: field(
    Type.Array(
      Type.Object({
        client_id: field(Text, 'Client id: its name.'),
        client_secret: field(Text, 'Client secret.'),
        redirect_uris: field(Texts, 'Addresses that people return to.'),
      }),
    ),
    'Applications of `SIGN_IN_APPS`.',
  ),
});
export const Plans = PlanCatalogue;
export const ImportedPrices = Type.Object({
  written: field(Flag, 'Whether the prices file was written.'),
  changes: field(
    Type.Array(
      Type.Object({
        model: field(Text, 'Id of the model.'),
        field: field(Text, 'Path of the price in `models` of the prices file.', 'tiers.200000.input'),
        before: field(Nullable(Type.Number()), 'Price in the file. Null if there was none.'),
        after: field(Nullable(Type.Number()), 'Price in the catalogue. Null if it has none.'),
        suspicion: field(Nullable(OneOf('missing', '10x')), 'Why it is only taken with `--accept`. Null if it is not.'),
      }),
    ),
    'Prices that differ.',
  ),
  not_in_catalogue: field(Texts, 'Models of the file that the catalogue does not have; their prices stay.'),
});

export const GrantedPlan = Type.Object({
  user: field(Text, 'Id of the user.'),
  account: field(Text, 'Id of the account.'),
  plan: field(Text, 'Id of the plan.'),
  expires_at: field(MaybeText, 'When it ends (RFC 3339). Null if never.'),
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
    ...moneyFields,
    state: field(MaybeText, 'State of the order. Null without one.'),
    replayed: field(Flag, 'Whether it was counted before.'),
  }),
);

export const Alert = AlertShape;
export const Alerts = Type.Array(AlertShape);
export const AlertTests = Type.Array(
  Type.Object({
    channel: field(OneOf('webhook', 'email'), 'Where it was sent.'),
    ok: field(Flag, 'Whether it was accepted.'),
    detail: optional(Text, 'Why not.'),
  }),
);

export const Models = Type.Array(ModelShape);
const advice = { advice: optional(Text, 'The remedy. Absent if none is needed.') };
export const ModelTests = Type.Array(
  Type.Object({ ok: field(Flag, 'Whether it works.'), detail: field(Text, 'What was found.'), ...advice }),
);
export const AddedModel = Type.Object({
  id: field(Text, 'Id of the model.'),
  provider: field(Text, 'Entry of the plugins file, or of the model that running gateways add.'),
  file: optional(Text, 'The plugins file. Absent with `--live`.'),
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

export const ChangedModel = Type.Object({
  id: field(Text, 'Id of the model.'),
  changed: field(Texts, 'What differs from the files now: `switched_off`, `weights`, `prices`, `added`.'),
});

export const CancelledJob = Type.Object({ ...jobFields, ...changed });

export const Plugins = Type.Array(PluginShape);
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

export const Incident = IncidentShape;
export const Incidents = Type.Array(Incident);
export const BlockedLinks = Type.Array(BlockedLink);

const Role = OneOf('operator', 'billing', 'member');
export const Invitation = Type.Object({
  ...invitationFields,
  link: field(Text, 'The link, which works once. It is printed only here.'),
});
export const Invitations = Type.Array(Type.Object(invitationFields));
export const WithdrawnInvitation = Type.Object({
  id: field(Text, 'Id of the invitation.'),
  withdrawn: field(Flag, 'Always true.'),
});
export const ChangedRole = Type.Object({
  id: field(Text, 'Id of the user.'),
  role: field(Role, 'The role that the user has.'),
  ...changed,
});
