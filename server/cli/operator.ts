import { userInfo } from 'node:os';
import { CommandMistake } from './output.js';

const MAX_NOTE = 500;

/** Whom the audit names for what a command does: the account of this machine that ran it. */
export function operatorActor(): string {
  try {
    return `operator:${userInfo().username}`;
  } catch {
    // Containers run as numbers that no table has a name for.
    return `operator:${process.getuid?.() ?? 'unknown'}`;
  }
}

/** @throws CommandMistake */
export function noteOf(text: string | undefined): { note?: string } {
  if (text === undefined) return {};
  const note = text.trim();
  if (note === '' || note.length > MAX_NOTE) {
    throw new CommandMistake(`--note must have 1 to ${MAX_NOTE} characters.`);
  }
  return { note };
}
