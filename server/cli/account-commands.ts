import type { Command } from 'commander';
import { runCommand } from './command.js';

const USER = 'id of a user or of an account, or the address of one user';

/** Commands of operators about the people who have accounts. */
export function addUserCommands(program: Command): void {
  const users = program
    .command('users')
    .description('list, show, sign out, suspend and resume people who have signed in');
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
