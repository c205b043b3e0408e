/*
 * The commands that erase a user and that export everything stored about one. An erasure asks for confirmation, after
 * it has said what is deleted and what is kept; without a terminal it needs `--yes`. One that was interrupted continues
 * when the command is repeated.
 */

import { once } from 'node:events';
import { createInterface } from 'node:readline/promises';
import type { UserRecord } from '../../accounts/index.js';
import { isoTime, sanitizeForTerminal } from '../../format/index.js';
import type { Erasure } from '../../personal-data/index.js';
import type { Settings } from '../../settings/index.js';
import { openStateOf } from '../../state.js';
import { byOperator, requireState, using, withLogger, withState } from '../command.js';
import type { OptionsOf } from '../define-command.js';
import { CommandFailure, CommandMistake } from '../mistakes.js';
import type { Outcome } from '../output.js';
import type { eraseUser } from './access-commands.js';
import { findUser } from './users.js';

const WHAT_GOES = `Deleted for good: email, name and identity, sessions, names of keys, jobs with their prompts and files, stored answers, webhook secret.
Revoked: every key. Kept under a random id, as bookkeeping: orders, transfers without their text, usage, charges of jobs, plans.
`;

/** Erases a user, or continues an erasure that was interrupted. */
export async function eraseUserCommand(
  settings: Settings,
  named: string,
  { yes }: OptionsOf<typeof eraseUser>,
): Promise<Outcome<'ErasedUser'>> {
  await requireState(settings);
  return withLogger(settings, async (logger) =>
    using(await openStateOf(settings, logger), async (state) => {
      const before = await state.erasures.find(named);
      if (!before && !yes) await confirm(await findUser(state, named));
      const erasure =
        before ??
        (await state.erasures.begin({ userId: (await findUser(state, named)).id, actor: byOperator().actor }));
      if (erasure.finishedAt === null) await state.erasures.work(erasure.accountId, { files: state.files });
      return report(erasure, before !== undefined);
    }),
  );
}

function report({ userId, accountId, startedAt }: Erasure, wasErased: boolean): Outcome<'ErasedUser'> {
  const at = isoTime(startedAt);
  return {
    json: { id: userId, account: accountId, erased_at: at, changed: !wasErased },
    text: wasErased
      ? `User ${userId} was erased before, at ${at}; there is nothing to erase.`
      : `User ${userId} is erased; the account ${accountId} keeps only its bookkeeping.
Responses that a model vendor stores are deleted by a server, within a minute or at its next start.`,
  };
}

/** @throws CommandMistake without a terminal, CommandFailure if the answer is not yes. */
async function confirm({ id, email }: UserRecord): Promise<void> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new CommandMistake('This cannot be undone. Confirm it with --yes.');
  }
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await terminal.question(
    `${WHAT_GOES}Erase user ${id}${email === null ? '' : ` (${sanitizeForTerminal(email)})`}? Type yes: `,
  );
  terminal.close();
  if (answer.trim() !== 'yes') throw new CommandFailure('Nothing was erased.');
}

/** Prints everything stored about a user, as one JSON document. */
export function exportUserCommand(settings: Settings, named: string): Promise<Outcome> {
  return withState(settings, async (state) => {
    const user = await findUser(state, named);
    for await (const bytes of state.personalExport.read(user)) {
      if (!process.stdout.write(bytes)) await once(process.stdout, 'drain');
    }
    return {};
  });
}
