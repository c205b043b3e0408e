import type { Command } from 'commander';
import { runCommand } from './command.js';

const USER = 'id of a user or of an account, or the address of one user';

/** Operator commands for users. */
export function addUserCommands(program: Command): void {
  const users = program
    .command('users')
    .description('list, show, sign out, suspend, resume, export and erase people who have signed in');
  users
    .command('list')
    .description('list users, newest first')
    .option('--limit <number>', 'how many at the most (default: 100)')
    .option('--before <user>', 'those made before this one, by its id')
    .option('--json', 'print JSON')
    .action((options) =>
      runCommand(async (settings) => (await import('./users.js')).listUsersCommand(settings, options)),
    );
  users
    .command('show')
    .description('show a user: plan, keys, orders, and what was done')
    .argument('<user>', USER)
    .option('--json', 'print JSON')
    .action((id: string, options) =>
      runCommand(async (settings) => (await import('./users.js')).showUserCommand(settings, id, options)),
    );
  users
    .command('suspend')
    .description('sign a user out everywhere and stop their keys')
    .argument('<user>', USER)
    .option('--note <text>', 'why; kept with your name')
    .option('--json', 'print JSON')
    .action((id: string, options) =>
      runCommand(async (settings) => (await import('./users.js')).suspendUserCommand(settings, id, options)),
    );
  users
    .command('sign-out')
    .description('end all sessions of a user; their keys go on')
    .argument('<user>', USER)
    .option('--note <text>', 'why; kept with your name')
    .option('--json', 'print JSON')
    .action((id: string, options) =>
      runCommand(async (settings) => (await import('./users.js')).signOutUserCommand(settings, id, options)),
    );
  users
    .command('resume')
    .description('take a suspension back')
    .argument('<user>', USER)
    .option('--note <text>', 'why; kept with your name')
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

export function addPlanCommands(program: Command): void {
  const plans = program.command('plans').description('list the plans there are, and give them to users');
  plans
    .command('list', { isDefault: true })
    .description('list the plans')
    .option('--json', 'print JSON: all of each plan')
    .action((options) =>
      runCommand(async (settings) => (await import('./plans.js')).listPlansCommand(settings, options)),
    );
  plans
    .command('grant')
    .description('give a user a plan without an order')
    .argument('<user>', USER)
    .argument('<plan>', 'one that "plans list" shows')
    .option('--note <text>', 'why; kept with your name')
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
  const payments = program.command('payments').description('look at orders, and settle what banks do not settle');
  payments
    .command('list')
    .description('list orders, newest first')
    .option('--state <state>', 'only those that are pending, underpaid, paid, expired, …')
    .option('--account <account>', 'only those of this account')
    .option('--limit <number>', 'how many at the most (default: 100)')
    .option('--before <order>', 'those made before this one, by its code')
    .option('--json', 'print JSON')
    .action((options) =>
      runCommand(async (settings) => (await import('./payments.js')).listPaymentsCommand(settings, options)),
    );
  payments
    .command('show')
    .description('show an order: its transfers, and what was done')
    .argument('<order>', 'its code')
    .option('--json', 'print JSON')
    .action((code: string, options) =>
      runCommand(async (settings) => (await import('./payments.js')).showPaymentCommand(settings, code, options)),
    );
  for (const [name, description] of [
    ['confirm', 'take an order for paid, and give its plan'],
    ['cancel', 'cancel an order for which no money has come'],
    ['refund', 'note that the money went back, and take back the plan'],
  ] as const) {
    payments
      .command(name)
      .description(description)
      .argument('<order>', 'its code')
      .option('--note <text>', 'why; kept with your name')
      .option('--json', 'print JSON')
      .action((code: string, options) =>
        runCommand(async (settings) =>
          (await import('./payments.js')).changePaymentCommand(settings, name, code, options),
        ),
      );
  }
  payments
    .command('review')
    .description('list transfers that wait for a look, or settle one')
    .argument('[transfer]', 'one that needs no look any more: PROVIDER:ID')
    .option('--note <text>', 'why; kept with your name')
    .option('--json', 'print JSON')
    .action((transfer: string | undefined, options) =>
      runCommand(async (settings) =>
        (await import('./payments.js')).reviewPaymentsCommand(settings, transfer, options),
      ),
    );
  payments
    .command('import')
    .description('count the transfers of a bank statement')
    .argument('<file>', 'its name ends in .csv or .json')
    .option('--provider <name>', 'whose ids these are, e.g. payos', 'statement')
    .option('--json', 'print JSON')
    .addHelpText('after', IMPORT_HELP)
    .action((file: string, options) =>
      runCommand(async (settings) => (await import('./payments.js')).importPaymentsCommand(settings, file, options)),
    );
}

const LIST_HELP = `
Jobs that wait or run are listed newest first, those of another state by when they ended, latest first.
The last column says why a job ended as it did, or whether its worker shows life. One whose worker is gone is given to another
when its lease is over, 15 s after its last sign of life.`;

const SHOW_HELP = `
What was asked for and what came of it is its owner's own: prompts, input images, links and results are not shown. Of an
extraction there are the platform and the item's id, as in the log.`;

/** Operator commands for background jobs of every owner. */
export function addJobCommands(program: Command): void {
  const jobs = program.command('jobs').description('list and show background jobs, and cancel one');
  jobs
    .command('list')
    .description('list jobs, and count those of each state')
    .option('--kind <kind>', 'image or extraction (default: both)')
    .option('--state <state>', 'queued, running, completed, failed or cancelled (default: queued and running)')
    .option('--account <account>', 'only those of this account')
    .option('--limit <number>', 'how many at the most (default: 100)')
    .option('--before <job>', 'those that come after this one in the list, by its id')
    .option('--json', 'print JSON, without the counts')
    .addHelpText('after', LIST_HELP)
    .action((options) =>
      runCommand(async (settings) => (await import('./jobs.js')).listJobsCommand(settings, options)),
    );
  jobs
    .command('show')
    .description('show a job: whose it is, how it fares, what it cost, and what was done')
    .argument('<job>', 'its id')
    .option('--json', 'print JSON')
    .addHelpText('after', SHOW_HELP)
    .action((id: string, options) =>
      runCommand(async (settings) => (await import('./jobs.js')).showJobCommand(settings, id, options)),
    );
  jobs
    .command('cancel')
    .description('end a job that waits or runs, for all it belongs to')
    .argument('<job>', 'its id')
    .option('--note <text>', 'why; kept with your name')
    .option('--json', 'print JSON')
    .action((id: string, options) =>
      runCommand(async (settings) => (await import('./jobs.js')).cancelJobCommand(settings, id, options)),
    );
}

/** Operator commands for the whole state. */
export function addStateCommands(program: Command): void {
  program
    .command('migrate')
    .description("bring the database to this release's schema, as serve does when it starts")
    .option('--check', 'only look; ends with 1 where something is to be done')
    .action((options) =>
      runCommand(async (settings) => (await import('./state.js')).migrateCommand(settings, options)),
    );
  program
    .command('backup')
    .description('copy database and files into a new folder, while a server runs')
    .argument('<folder>', 'where to; must not be there yet')
    .option('--secrets', 'also the secrets that DATA_DIR keeps')
    .action((folder: string, options) =>
      runCommand(async (settings) => (await import('./state.js')).backupCommand(settings, folder, options)),
    );
  program
    .command('restore')
    .description('put a backup into an empty DATA_DIR')
    .argument('<folder>', 'what "backup" made')
    .action((folder: string) =>
      runCommand(async (settings) => (await import('./state.js')).restoreCommand(settings, folder)),
    );
  program
    .command('import')
    .description('bring a state out of SQLite into the empty PostgreSQL of DATABASE_URL')
    .requiredOption('--from <place>', 'a data folder that no gateway uses, a backup, or a file of SQLite')
    .action((options) => runCommand(async (settings) => (await import('./state.js')).importCommand(settings, options)));
}
