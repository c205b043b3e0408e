/*
 * Declares the commands that are grouped by a noun: groups, users, models, plans, payments, jobs and the state, with
 * their options and help texts. The module of a command is loaded when the command runs, so that help is fast. The file
 * contains no work of its own besides the readers of repeated and numeric options, which all of the commands share.
 */

import { type Command, InvalidArgumentError } from 'commander';
import { runCommand } from './command.js';

const USER = 'id of a user or of an account, or the address of one user';

export const BUDGET = 'e.g. "50 USD/month", "2M tokens/day" or "1000 requests/lifetime"; may be repeated';

/** @throws InvalidArgumentError */
export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

/** Collects the values of an option that may be repeated. */
export function collect(one: string, all: readonly string[] = []): string[] {
  return [...all, one];
}

/** Operator commands for groups of keys, and for budgets of accounts. */
export function addGroupCommands(program: Command): void {
  const groups = program
    .command('groups')
    .description('create, list, show, change and delete groups of keys, such as teams');
  groups
    .command('create')
    .description('create a group, whose keys share its budget')
    .argument('<name>', 'name of the group')
    .option('--budget <amount>', BUDGET, collect)
    .option('--note <text>', 'reason; stored with your name in the history')
    .option('--json', 'print JSON')
    .action((name: string, options) =>
      runCommand(async (settings) => (await import('./groups.js')).createGroupCommand(settings, name, options)),
    );
  groups
    .command('list', { isDefault: true })
    .description('list the groups')
    .option('--json', 'print JSON')
    .action((options) =>
      runCommand(async (settings) => (await import('./groups.js')).listGroupsCommand(settings, options)),
    );
  groups
    .command('show')
    .description('show a group: budget, keys, and their usage of this month')
    .argument('<name>', 'name of the group')
    .option('--json', 'print JSON')
    .action((name: string, options) =>
      runCommand(async (settings) => (await import('./groups.js')).showGroupCommand(settings, name, options)),
    );
  groups
    .command('update')
    .description('change the budget of a group; running servers follow within 2 seconds')
    .argument('<name>', 'name of the group')
    .option('--budget <amount>', `all budgets of the group, or none: ${BUDGET}`, collect)
    .option('--note <text>', 'reason; stored with your name in the history')
    .option('--json', 'print JSON')
    .action((name: string, options) =>
      runCommand(async (settings) => (await import('./groups.js')).updateGroupCommand(settings, name, options)),
    );
  groups
    .command('delete')
    .description('delete a group and its budget; running servers follow within 2 seconds')
    .argument('<name>', 'name of the group')
    .option('--release-keys', 'take its keys out; without it a group with keys is not deleted')
    .option('--note <text>', 'reason; stored with your name in the history')
    .option('--json', 'print JSON')
    .action((name: string, options) =>
      runCommand(async (settings) => (await import('./groups.js')).deleteGroupCommand(settings, name, options)),
    );
  const budgets = program
    .command('budgets')
    .description('list budgets, set that of an account, print the secret of alerts');
  budgets
    .command('list', { isDefault: true })
    .description('list the budgets of keys, accounts and groups')
    .option('--json', 'print JSON')
    .action((options) =>
      runCommand(async (settings) => (await import('./groups.js')).listBudgetsCommand(settings, options)),
    );
  budgets
    .command('set')
    .description('set the budget that all keys of an account share; running servers follow within 2 seconds')
    .argument('<account>', 'name that "keys create --account" had, or id of the account of a user')
    .option('--budget <amount>', `all budgets of the account, or none: ${BUDGET}`, collect)
    .option('--note <text>', 'reason; stored with your name in the history')
    .option('--json', 'print JSON')
    .action((account: string, options) =>
      runCommand(async (settings) => (await import('./groups.js')).setBudgetCommand(settings, account, options)),
    );
  budgets
    .command('secret')
    .description('print the secret that alerts of BUDGET_WEBHOOK_URL are signed with')
    .action(() => runCommand(async (settings) => (await import('./groups.js')).budgetSecretCommand(settings)));
}

/** Operator commands for users. */
export function addUserCommands(program: Command): void {
  const users = program.command('users').description('list, show, sign out, suspend, resume, export and erase users');
  users
    .command('list')
    .description('list users, newest first')
    .option('--limit <number>', 'maximum number (default: 100)')
    .option('--before <user>', 'only those created before this id')
    .option('--json', 'print JSON')
    .action((options) =>
      runCommand(async (settings) => (await import('./users.js')).listUsersCommand(settings, options)),
    );
  users
    .command('show')
    .description('show a user: plan, keys, orders and history')
    .argument('<user>', USER)
    .option('--json', 'print JSON')
    .action((id: string, options) =>
      runCommand(async (settings) => (await import('./users.js')).showUserCommand(settings, id, options)),
    );
  users
    .command('suspend')
    .description('suspend a user: end all sessions and stop the keys')
    .argument('<user>', USER)
    .option('--note <text>', 'reason; stored with your name in the history')
    .option('--json', 'print JSON')
    .action((id: string, options) =>
      runCommand(async (settings) => (await import('./users.js')).suspendUserCommand(settings, id, options)),
    );
  users
    .command('sign-out')
    .description('end all sessions of a user; the keys keep working')
    .argument('<user>', USER)
    .option('--note <text>', 'reason; stored with your name in the history')
    .option('--json', 'print JSON')
    .action((id: string, options) =>
      runCommand(async (settings) => (await import('./users.js')).signOutUserCommand(settings, id, options)),
    );
  users
    .command('resume')
    .description('end a suspension')
    .argument('<user>', USER)
    .option('--note <text>', 'reason; stored with your name in the history')
    .option('--json', 'print JSON')
    .action((id: string, options) =>
      runCommand(async (settings) => (await import('./users.js')).resumeUserCommand(settings, id, options)),
    );
  users
    .command('export')
    .description('print everything stored about a user as one JSON document')
    .argument('<user>', USER)
    .action((id: string) =>
      runCommand(async (settings) => (await import('./personal-data.js')).exportUserCommand(settings, id)),
    );
  users
    .command('erase')
    .description('delete a user for good: everything personal; orders and usage stay under a random id')
    .argument('<user>', USER)
    .option('--yes', 'do not ask')
    .option('--json', 'print JSON')
    .action((id: string, options) =>
      runCommand(async (settings) => (await import('./personal-data.js')).eraseUserCommand(settings, id, options)),
    );
}

/** Operator commands for models. */
export function addModelCommands(program: Command): void {
  const models = program.command('models').description('list, test and add models');
  models
    .command('list', { isDefault: true })
    .description('list the models that are served, with upstream, context length and routes')
    .option('--json', 'print JSON')
    .action((options) =>
      runCommand(async (settings) => (await import('./models.js')).listModelsCommand(settings, options)),
    );
  models
    .command('test')
    .description('ask the upstreams of a model, and send it one short request')
    .argument('<model>', 'id of the model')
    .option('--no-request', 'only ask what costs nothing')
    .option('--json', 'print JSON')
    .action((id: string, options) =>
      runCommand(async (settings) => (await import('./models.js')).testModelCommand(settings, id, options)),
    );
  models
    .command('add')
    .description('add a text model to the plugins file')
    .argument('<model>', 'id of the model, for clients')
    .option('--url <address>', 'address of its server, e.g. http://127.0.0.1:11434/v1')
    .option('--key-variable <name>', 'environment variable with the key of the server (default: none is sent)')
    .option('--provider <id>', 'add it to this provider of the file, in place of --url')
    .option(
      '--upstream <name>',
      'name of the upstream of that provider (default: all have the model); with --url and a model that exists: name of a further server of it',
    )
    .option('--model <name>', "the server's own name of the model (default: its id)")
    .option('--routes <routes>', 'chat_completions, responses, embeddings or moderations, separated by commas')
    .option('--context-length <tokens>', 'tokens of input and output together', wholeNumber)
    .option('--json', 'print JSON')
    .action((id: string, options) =>
      runCommand(async (settings) => (await import('./models.js')).addModelCommand(settings, id, options)),
    );
}

export function addPlanCommands(program: Command): void {
  const plans = program.command('plans').description('list plans, and assign them to users');
  plans
    .command('list', { isDefault: true })
    .description('list the plans')
    .option('--json', 'print JSON with all fields')
    .action((options) =>
      runCommand(async (settings) => (await import('./plans.js')).listPlansCommand(settings, options)),
    );
  plans
    .command('grant')
    .description('assign a plan to a user without an order')
    .argument('<user>', USER)
    .argument('<plan>', 'a plan id, see "plans list"')
    .option('--note <text>', 'reason; stored with your name in the history')
    .option('--json', 'print JSON')
    .action((id: string, plan: string, options) =>
      runCommand(async (settings) => (await import('./plans.js')).grantPlanCommand(settings, id, plan, options)),
    );
}

const IMPORT_HELP = `
A CSV file has a line of column names, among them id, amount, currency, text and at, e.g.
  id,amount,currency,text,at
  B-2041,12.34,EUR,"RF07 MG7K 3M9Q XD",2026-06-15
Amounts are as banks write them, with a point; lines without money that came in are left out.
A JSON file is a list of what the generic webhook takes: amounts in minor units.
What was told before, by its provider and id, is not counted again.`;

/** Operator commands for orders and bank transfers. */
export function addPaymentCommands(program: Command): void {
  const payments = program.command('payments').description('show orders, and settle them by hand');
  payments
    .command('list')
    .description('list orders, newest first')
    .option('--state <state>', 'only this state: pending, underpaid, paid, expired, …')
    .option('--account <account>', 'only this account')
    .option('--limit <number>', 'maximum number (default: 100)')
    .option('--before <order>', 'only those created before this code')
    .option('--json', 'print JSON')
    .action((options) =>
      runCommand(async (settings) => (await import('./payments.js')).listPaymentsCommand(settings, options)),
    );
  payments
    .command('show')
    .description('show an order: transfers and history')
    .argument('<order>', 'its code')
    .option('--json', 'print JSON')
    .action((code: string, options) =>
      runCommand(async (settings) => (await import('./payments.js')).showPaymentCommand(settings, code, options)),
    );
  for (const [name, description] of [
    ['confirm', 'mark an order as paid, and assign its plan'],
    ['cancel', 'cancel an order that has no payment'],
    ['refund', 'record a refund, and end the plan'],
  ] as const) {
    payments
      .command(name)
      .description(description)
      .argument('<order>', 'its code')
      .option('--note <text>', 'reason; stored with your name in the history')
      .option('--json', 'print JSON')
      .action((code: string, options) =>
        runCommand(async (settings) =>
          (await import('./payments.js')).changePaymentCommand(settings, name, code, options),
        ),
      );
  }
  payments
    .command('review')
    .description('list transfers under review, or settle one')
    .argument('[transfer]', 'transfer that is settled: PROVIDER:ID')
    .option('--note <text>', 'reason; stored with your name in the history')
    .option('--json', 'print JSON')
    .action((transfer: string | undefined, options) =>
      runCommand(async (settings) =>
        (await import('./payments.js')).reviewPaymentsCommand(settings, transfer, options),
      ),
    );
  payments
    .command('import')
    .description('import the transfers of a bank statement')
    .argument('<file>', 'a .csv or .json file')
    .option('--provider <name>', 'provider of the transfer ids, e.g. payos', 'statement')
    .option('--json', 'print JSON')
    .addHelpText('after', IMPORT_HELP)
    .action((file: string, options) =>
      runCommand(async (settings) => (await import('./payments.js')).importPaymentsCommand(settings, file, options)),
    );
}

const LIST_HELP = `
Jobs that wait or run are listed newest first, those of another state by when they ended, latest first.
The last column gives the reason of the end, or the heartbeat of the worker. A job whose worker is gone moves to another worker
when its lease is over, 15 s after its last sign of life.`;

const SHOW_HELP = `
What was asked for and what came of it is its owner's own: prompts, input images, links and results are not shown. Of an
extraction there are the platform and the item's id, as in the log.`;

/** Operator commands for background jobs of every owner. */
export function addJobCommands(program: Command): void {
  const jobs = program.command('jobs').description('list, show and cancel background jobs');
  jobs
    .command('list')
    .description('list jobs, and count them by state')
    .option('--kind <kind>', 'image or extraction (default: both)')
    .option('--state <state>', 'queued, running, completed, failed or cancelled (default: queued and running)')
    .option('--account <account>', 'only this account')
    .option('--limit <number>', 'maximum number (default: 100)')
    .option('--before <job>', 'only those after this id in the list')
    .option('--json', 'print JSON, without the counts')
    .addHelpText('after', LIST_HELP)
    .action((options) =>
      runCommand(async (settings) => (await import('./jobs.js')).listJobsCommand(settings, options)),
    );
  jobs
    .command('show')
    .description('show a job: owner, state, cost and history')
    .argument('<job>', 'its id')
    .option('--json', 'print JSON')
    .addHelpText('after', SHOW_HELP)
    .action((id: string, options) =>
      runCommand(async (settings) => (await import('./jobs.js')).showJobCommand(settings, id, options)),
    );
  jobs
    .command('cancel')
    .description('cancel a queued or running job for all its owners')
    .argument('<job>', 'its id')
    .option('--note <text>', 'reason; stored with your name in the history')
    .option('--json', 'print JSON')
    .action((id: string, options) =>
      runCommand(async (settings) => (await import('./jobs.js')).cancelJobCommand(settings, id, options)),
    );
}

/** Operator commands for the whole state. */
export function addStateCommands(program: Command): void {
  program
    .command('migrate')
    .description('migrate the database to the schema of this release, as serve does at its start')
    .option('--check', 'only check; exit code 1 if a migration is needed')
    .action((options) =>
      runCommand(async (settings) => (await import('./state.js')).migrateCommand(settings, options)),
    );
  program
    .command('backup')
    .description('copy database and files into a new folder, while a server runs')
    .argument('<folder>', 'target folder; must not exist')
    .option('--secrets', 'include the secrets in DATA_DIR')
    .action((folder: string, options) =>
      runCommand(async (settings) => (await import('./state.js')).backupCommand(settings, folder, options)),
    );
  program
    .command('restore')
    .description('restore a backup into an empty DATA_DIR')
    .argument('<folder>', 'what "backup" made')
    .action((folder: string) =>
      runCommand(async (settings) => (await import('./state.js')).restoreCommand(settings, folder)),
    );
  program
    .command('import')
    .description('copy a SQLite state into the empty PostgreSQL of DATABASE_URL')
    .requiredOption('--from <place>', 'a data folder that no gateway uses, a backup, or a SQLite file')
    .action((options) => runCommand(async (settings) => (await import('./state.js')).importCommand(settings, options)));
}
