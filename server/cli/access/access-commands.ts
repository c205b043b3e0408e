/*
 * Declares the commands about who may use the gateway, and what they use and pay: keys, groups, budgets, usage, users,
 * plans and payments. The declarations are the only place with their options and help texts; the module that a command
 * imports does its work.
 */

import { ORDER_STATES } from '../../choices.js';
import { defineCommand, type OptionsOf } from '../define-command.js';
import type { Outcome } from '../output.js';
import { BALANCE_COMMANDS } from './balance-commands.js';

const KEY = ['id', 'key id (8 characters, see "keys list"), or the key itself'] as const;
const USER = ['user', 'id of a user or of an account, or the address of one user'] as const;
const GROUP = ['name', 'name of the group'] as const;
const ORDER = ['order', 'its code'] as const;

const AMOUNT = 'e.g. "50 USD/month", "2M tokens/day" or "1000 requests/lifetime"; may be repeated';
const GRANTS = ['images', 'extract', 'text', 'audio', 'vendor_ids', 'paid_tools', 'admin'] as const;
const PRIORITIES = ['low', 'normal', 'high'] as const;
const ROLES = ['operator', 'billing', 'member'] as const;
/** Options of several commands. */
const NOTE = { '--note <text>': 'reason; stored with your name in the history' } as const;
export type NoteOptions = OptionsOf<{ options: typeof NOTE }>;
const LIMIT = { '--limit <number>': 'maximum number (default: 100)' } as const;
const UNKNOWN_MODELS = { '--allow-unknown-models': 'take models that the gateway does not serve yet' } as const;

export const createKey = defineCommand({
  name: 'keys create',
  summary: 'create a key; it is shown once',
  options: {
    '--name <name>': { text: 'what the key is for', default: 'key' },
    '--account <name>': 'account that owns the key; its keys share jobs and limits (default: none)',
    '--plan <plan>': 'plan of the key, as "plans list" shows it (default: no limits)',
    '--grant <grant>': {
      text: 'images, extract, text or audio, separated by commas (default: extract, or the grants of the plan); admin for the admin API',
      many: true,
      suggests: GRANTS,
    },
    '--rpm <number>': 'requests per minute and route family, or unlimited (default: 30, or the limit of the plan)',
    '--models <model>': {
      text: 'ids of the models, separated by commas, or all (default: all, or those of the plan)',
      many: true,
    },
    ...UNKNOWN_MODELS,
    '--budget <amount>': { text: AMOUNT, many: true },
    '--group <name>': 'group that the key belongs to, as "groups create" made it; its keys share a budget',
    '--priority <priority>': {
      text: 'order of its jobs among those of its account: low, normal or high (default: normal)',
      suggests: PRIORITIES,
    },
    '--expires <date>': 'expiry date, e.g. 2030-12-31 (default: never, or the end of the plan)',
  },
  examples: [
    'keys create --name laptop --grant text,images --budget "50 USD/month"',
    'keys create --plan free --expires 2030-12-31 --json',
  ],
  shape: 'NewKey',
  run: async (...call): Promise<Outcome<'NewKey'>> => (await import('./keys.js')).createKeyCommand(...call),
});

export const updateKey = defineCommand({
  name: 'keys update',
  summary: 'change the properties of a key; running servers follow within 2 seconds',
  arguments: [KEY],
  options: {
    '--name <name>': 'what the key is for',
    '--grant <grant>': {
      text: 'all grants of the key, separated by commas; they replace those that it has',
      many: true,
      suggests: GRANTS,
    },
    '--rpm <number>': 'requests per minute and route family, or unlimited',
    '--models <model>': { text: 'all models of the key, separated by commas, or all', many: true },
    ...UNKNOWN_MODELS,
    '--budget <amount>': { text: `all budgets of the key itself, or none: ${AMOUNT}`, many: true },
    '--group <name>': 'group that the key moves into, or none',
    '--priority <priority>': {
      text: 'order of its jobs among those of its account: low, normal or high',
      suggests: PRIORITIES,
    },
    '--expires <date>': 'expiry date, e.g. 2030-12-31, or never',
    ...NOTE,
  },
  shape: 'Key',
  run: async (...call): Promise<Outcome<'Key'>> => (await import('./key-changes.js')).updateKeyCommand(...call),
});

export const rotateKey = defineCommand({
  name: 'keys rotate',
  summary: 'replace a key by one with the same properties; the new one is shown once',
  arguments: [KEY],
  options: {
    '--overlap-hours <number>': 'hours for which the old key keeps working, 0 to 168 (default: 24)',
    ...NOTE,
  },
  shape: 'RotatedKey',
  run: async (...call): Promise<Outcome<'RotatedKey'>> => (await import('./key-changes.js')).rotateKeyCommand(...call),
});

export const revokeKey = defineCommand({
  name: 'keys revoke',
  summary: 'revoke a key by its id',
  arguments: [KEY],
  options: { '--keep-jobs': 'keep its queued jobs; without it they are cancelled' },
  shape: 'RevokedKey',
  run: async (...call): Promise<Outcome<'RevokedKey'>> => (await import('./keys.js')).revokeKeyCommand(...call),
});

export const listKeys = defineCommand({
  name: 'keys list',
  summary: 'list all keys, without their secrets',
  options: { '--internal': 'also those that pages of the site and connected agents use for their accounts' },
  shape: 'Keys',
  run: async (...call): Promise<Outcome<'Keys'>> => (await import('./keys.js')).listKeysCommand(...call),
});

const KEY_COMMANDS = [
  createKey,
  listKeys,
  updateKey,
  defineCommand({
    name: 'keys show',
    summary: 'show a key: properties, budget, usage of today and history',
    arguments: [KEY],
    shape: 'KeyDetails',
    run: async (...call): Promise<Outcome<'KeyDetails'>> => (await import('./key-changes.js')).showKeyCommand(...call),
  }),
  rotateKey,
  revokeKey,
];

export const createGroup = defineCommand({
  name: 'groups create',
  summary: 'create a group, whose keys share its budget',
  arguments: [GROUP],
  options: { '--budget <amount>': { text: AMOUNT, many: true }, ...NOTE },
  shape: 'NewGroup',
  run: async (...call): Promise<Outcome<'NewGroup'>> => (await import('./groups.js')).createGroupCommand(...call),
});

export const deleteGroup = defineCommand({
  name: 'groups delete',
  summary: 'delete a group and its budget; running servers follow within 2 seconds',
  arguments: [GROUP],
  options: { '--release-keys': 'take its keys out; without it a group with keys is not deleted', ...NOTE },
  shape: 'DeletedGroup',
  run: async (...call): Promise<Outcome<'DeletedGroup'>> => (await import('./groups.js')).deleteGroupCommand(...call),
});

const GROUP_COMMANDS = [
  createGroup,
  defineCommand({
    name: 'groups list',
    isDefault: true,
    summary: 'list the groups',
    shape: 'Groups',
    run: async (...call): Promise<Outcome<'Groups'>> => (await import('./groups.js')).listGroupsCommand(...call),
  }),
  defineCommand({
    name: 'groups show',
    summary: 'show a group: budget, keys, and their usage of this month',
    arguments: [GROUP],
    shape: 'GroupDetails',
    run: async (...call): Promise<Outcome<'GroupDetails'>> => (await import('./groups.js')).showGroupCommand(...call),
  }),
  defineCommand({
    name: 'groups update',
    summary: 'change the budget of a group; running servers follow within 2 seconds',
    arguments: [GROUP],
    options: {
      '--budget <amount>': { text: `all budgets of the group, or none: ${AMOUNT}`, many: true },
      ...NOTE,
    },
    shape: 'ChangedBudgets',
    run: async (...call): Promise<Outcome<'ChangedBudgets'>> =>
      (await import('./groups.js')).updateGroupCommand(...call),
  }),
  deleteGroup,
];

const BUDGET_COMMANDS = [
  defineCommand({
    name: 'budgets list',
    isDefault: true,
    summary: 'list the budgets of keys, accounts and groups',
    shape: 'Budgets',
    run: async (...call): Promise<Outcome<'Budgets'>> => (await import('./groups.js')).listBudgetsCommand(...call),
  }),
  defineCommand({
    name: 'budgets set',
    summary: 'set the budget that all keys of an account share; running servers follow within 2 seconds',
    arguments: [['account', 'name that "keys create --account" had, or id of the account of a user']],
    options: {
      '--budget <amount>': { text: `all budgets of the account, or none: ${AMOUNT}`, many: true },
      ...NOTE,
    },
    shape: 'ChangedBudgets',
    run: async (...call): Promise<Outcome<'ChangedBudgets'>> => (await import('./groups.js')).setBudgetCommand(...call),
  }),
  defineCommand({
    name: 'budgets secret',
    summary: 'print the secret that alerts of BUDGET_WEBHOOK_URL are signed with',
    json: false,
    run: async (...call): Promise<Outcome> => (await import('./groups.js')).budgetSecretCommand(...call),
  }),
];

export const showUsage = defineCommand({
  name: 'usage',
  summary: 'show usage by day, key, route and model, or by one of them',
  options: {
    '--key <id>': `only this key: ${KEY[1]}`,
    '--from <day>': 'first day by UTC, e.g. 2026-06-01 (default: 30 days)',
    '--to <day>': 'last day (default: today)',
    '--group <name>': 'only the keys of this group',
    '--by <group>': { text: 'one row for each', choices: ['key', 'group', 'model', 'day', 'route'] },
    '--csv': { text: 'print CSV', conflicts: 'json' },
  },
  examples: ['usage --from 2026-06-01 --to 2026-06-30 --by model --csv'],
  shape: 'UsageRows',
  run: async (...call): Promise<Outcome<'UsageRows'>> => (await import('./usage.js')).usageCommand(...call),
});

export const listUsers = defineCommand({
  name: 'users list',
  summary: 'list users, newest first',
  options: { ...LIMIT, '--before <user>': 'only those created before this id' },
  shape: 'Users',
  run: async (...call): Promise<Outcome<'Users'>> => (await import('./users.js')).listUsersCommand(...call),
});

export const inviteUser = defineCommand({
  name: 'users invite',
  summary: 'print a link by which a person signs in with a passkey; it works once',
  options: {
    '--operator': 'the person becomes an operator',
    '--billing': { text: 'the person sees to payments', conflicts: 'operator' },
    '--name <name>': 'name of the person, which they may change',
    '--plan <plan>': 'plan that the new account gets (default: the free tier)',
    '--hours <number>': {
      text: 'hours for which the link works, 1 to 720 (default: 72; 1 for the first operator)',
      number: true,
    },
    '--user <user>': `a user who has lost all passkeys; the link replaces them: ${USER[1]}`,
    ...NOTE,
  },
  help: 'The link works for any person who has it, so send it over a channel that you trust. It needs a gateway without OIDC_ISSUER, at a host name over https.',
  examples: ['users invite --name Ann --plan token_100m', 'users invite --operator --hours 4'],
  shape: 'Invitation',
  run: async (...call): Promise<Outcome<'Invitation'>> => (await import('./invitations.js')).inviteCommand(...call),
});

export const eraseUser = defineCommand({
  name: 'users erase',
  summary: 'delete a user for good: everything personal; orders and usage stay under a random id',
  arguments: [USER],
  options: { '--yes': 'do not ask' },
  shape: 'ErasedUser',
  run: async (...call): Promise<Outcome<'ErasedUser'>> =>
    (await import('./personal-data.js')).eraseUserCommand(...call),
});

const USER_COMMANDS = [
  listUsers,
  defineCommand({
    name: 'users show',
    summary: 'show a user: plan, keys, orders and history',
    arguments: [USER],
    shape: 'UserDetails',
    run: async (...call): Promise<Outcome<'UserDetails'>> => (await import('./users.js')).showUserCommand(...call),
  }),
  defineCommand({
    name: 'users suspend',
    summary: 'suspend a user: end all sessions and stop the keys',
    arguments: [USER],
    options: NOTE,
    shape: 'ChangedUser',
    run: async (settings, ...call): Promise<Outcome<'ChangedUser'>> =>
      (await import('./users.js')).changeUserCommand(settings, 'suspend', ...call),
  }),
  defineCommand({
    name: 'users sign-out',
    summary: 'end all sessions of a user; the keys keep working',
    arguments: [USER],
    options: NOTE,
    shape: 'SignedOut',
    run: async (...call): Promise<Outcome<'SignedOut'>> => (await import('./users.js')).signOutUserCommand(...call),
  }),
  defineCommand({
    name: 'users resume',
    summary: 'end a suspension',
    arguments: [USER],
    options: NOTE,
    shape: 'ChangedUser',
    run: async (settings, ...call): Promise<Outcome<'ChangedUser'>> =>
      (await import('./users.js')).changeUserCommand(settings, 'resume', ...call),
  }),
  inviteUser,
  defineCommand({
    name: 'users invitations',
    summary: 'list the invitations that were not used yet',
    shape: 'Invitations',
    run: async (...call): Promise<Outcome<'Invitations'>> =>
      (await import('./invitations.js')).listInvitationsCommand(...call),
  }),
  defineCommand({
    name: 'users uninvite',
    summary: 'withdraw an invitation',
    arguments: [['invitation', 'its id, as "users invitations" shows it']],
    options: NOTE,
    shape: 'WithdrawnInvitation',
    run: async (...call): Promise<Outcome<'WithdrawnInvitation'>> =>
      (await import('./invitations.js')).withdrawInvitationCommand(...call),
  }),
  defineCommand({
    name: 'users role',
    summary: 'give a user another role; the last operator keeps the role',
    arguments: [
      USER,
      ['role', 'operator: runs the gateway; billing: sees to payments; member: the own account', ROLES],
    ],
    options: NOTE,
    shape: 'ChangedRole',
    run: async (...call): Promise<Outcome<'ChangedRole'>> => (await import('./users.js')).changeRoleCommand(...call),
  }),
  defineCommand({
    name: 'users apps',
    summary: 'show the applications of SIGN_IN_APPS with their client secrets',
    shape: 'SignInApps',
    run: async (...call): Promise<Outcome<'SignInApps'>> => (await import('./invitations.js')).listAppsCommand(...call),
  }),
  defineCommand({
    name: 'users export',
    summary: 'print everything stored about a user as one JSON document',
    arguments: [USER],
    json: false,
    run: async (...call): Promise<Outcome> => (await import('./personal-data.js')).exportUserCommand(...call),
  }),
  eraseUser,
];

const PLAN_COMMANDS = [
  defineCommand({
    name: 'plans list',
    isDefault: true,
    summary: 'list the plans',
    json: 'print JSON with all fields',
    shape: 'Plans',
    run: async (...call): Promise<Outcome<'Plans'>> => (await import('./plans.js')).listPlansCommand(...call),
  }),
  defineCommand({
    name: 'plans grant',
    summary: 'assign a plan to a user without an order',
    arguments: [USER, ['plan', 'a plan id, see "plans list"']],
    options: NOTE,
    shape: 'GrantedPlan',
    run: async (...call): Promise<Outcome<'GrantedPlan'>> => (await import('./plans.js')).grantPlanCommand(...call),
  }),
];

export const listPayments = defineCommand({
  name: 'payments list',
  summary: 'list orders, newest first',
  options: {
    '--state <state>': {
      text: 'only this state: pending, underpaid, paid, expired, …',
      values: ORDER_STATES,
    },
    '--account <account>': 'only this account',
    ...LIMIT,
    '--before <order>': 'only those created before this code',
  },
  shape: 'Orders',
  run: async (...call): Promise<Outcome<'Orders'>> => (await import('./payments.js')).listPaymentsCommand(...call),
});

const changeOrder = (verb: 'confirm' | 'cancel' | 'refund', summary: string) =>
  defineCommand({
    name: `payments ${verb}`,
    summary,
    arguments: [ORDER],
    options: NOTE,
    shape: 'Order',
    run: async (settings, ...call): Promise<Outcome<'Order'>> =>
      (await import('./payments.js')).changePaymentCommand(settings, verb, ...call),
  });

export const importPayments = defineCommand({
  name: 'payments import',
  summary: 'import the transfers of a bank statement',
  arguments: [['file', 'a .csv or .json file']],
  options: { '--provider <name>': { text: 'provider of the transfer ids, e.g. payos', default: 'statement' } },
  help: `A CSV file has a line of column names, among them id, amount, currency, text and at, e.g.
  id,amount,currency,text,at
  B-2041,12.34,EUR,"RF07 MG7K 3M9Q XD",2026-06-15
Amounts are as banks write them, with a point; lines without money that came in are left out.
A JSON file is a list of what the generic webhook takes: amounts in minor units.
What was told before, by its provider and id, is not counted again.`,
  shape: 'Imported',
  run: async (...call): Promise<Outcome<'Imported'>> => (await import('./payments.js')).importPaymentsCommand(...call),
});

const PAYMENT_COMMANDS = [
  listPayments,
  defineCommand({
    name: 'payments show',
    summary: 'show an order: transfers and history',
    arguments: [ORDER],
    shape: 'OrderDetails',
    run: async (...call): Promise<Outcome<'OrderDetails'>> =>
      (await import('./payments.js')).showPaymentCommand(...call),
  }),
  changeOrder('confirm', 'mark an order as paid, and assign its plan'),
  changeOrder('cancel', 'cancel an order that has no payment'),
  changeOrder('refund', 'record a refund, and end the plan'),
  defineCommand({
    name: 'payments review',
    summary: 'list transfers under review, or settle one',
    arguments: [['[transfer]', 'transfer that is settled: PROVIDER:ID']],
    options: NOTE,
    shape: 'Reviews',
    run: async (...call): Promise<Outcome<'Reviews'>> => (await import('./payments.js')).reviewPaymentsCommand(...call),
  }),
  importPayments,
];

/** In the order of the help. */
export const ACCESS_COMMANDS = [
  ...KEY_COMMANDS,
  ...GROUP_COMMANDS,
  ...BUDGET_COMMANDS,
  showUsage,
  ...USER_COMMANDS,
  ...PLAN_COMMANDS,
  ...PAYMENT_COMMANDS,
  ...BALANCE_COMMANDS,
];
