import type { Command } from 'commander';
import { runCommand } from './command.js';

/** Commands of operators about all that the gateway keeps. */
export function addStateCommands(program: Command): void {
  program
    .command('migrate')
    .description("bring the database to this release's schema, as serve does when it starts")
    .option('--check', 'only look; ends with 1 where something is to be done')
    .action((options) =>
      runCommand(async (settings) => (await import('./migrate.js')).migrateCommand(settings, options)),
    );
  program
    .command('backup')
    .description('copy database and files into a new folder, while a server runs')
    .argument('<folder>', 'where to; must not be there yet')
    .option('--secrets', 'also the secrets that DATA_DIR keeps')
    .action((folder: string, options) =>
      runCommand(async (settings) => (await import('./backup.js')).backupCommand(settings, folder, options)),
    );
  program
    .command('restore')
    .description('put a backup into an empty DATA_DIR')
    .argument('<folder>', 'what "backup" made')
    .action((folder: string) =>
      runCommand(async (settings) => (await import('./restore.js')).restoreCommand(settings, folder)),
    );
  program
    .command('import')
    .description('bring a state out of SQLite into the empty PostgreSQL of DATABASE_URL')
    .requiredOption('--from <place>', 'a data folder that no gateway uses, a backup, or a file of SQLite')
    .action((options) =>
      runCommand(async (settings) => (await import('./import.js')).importCommand(settings, options)),
    );
}
