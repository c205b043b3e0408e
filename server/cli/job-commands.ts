import type { Command } from 'commander';
import { runCommand } from './command.js';

const LIST_HELP = `
Jobs that wait or run are listed newest first, those of another state by when they ended, latest first.
The last column says why a job ended as it did, or whether its worker shows life. One whose worker is gone is given to another
when its lease is over, 15 s after its last sign of life.`;

const SHOW_HELP = `
What was asked for and what came of it is its owner's own: prompts, input images, links and results are not shown. Of an
extraction there are the platform and the item's id, as in the log.`;

/** Commands of operators about background jobs, whoever asked for them. */
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
