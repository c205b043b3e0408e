import type { Command } from 'commander';
import { runCommand } from './command.js';

const IMPORT_HELP = `
A CSV file has a line of column names, among them id, amount, currency, text and at, e.g.
  id,amount,currency,text,at
  B-2041,12.34,EUR,"RF07 MG7K 3M9Q XD",2026-06-15
Amounts are as banks write them, with a point; lines without money that came in are left out.
A JSON file is a list of what the generic webhook takes: amounts in minor units.
What was told before, by its provider and id, is not counted again.`;

/** Commands of operators about orders and the money that came for them. */
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
