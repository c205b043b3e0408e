/*
 * Declares the commands about prepaid balances. The declarations are the only place with their options and help texts; the
 * module that a command imports does its work.
 */

import { defineCommand } from '../define-command.js';
import type { Outcome } from '../output.js';

const USER = ['user', 'id of a user or of an account, or the address of one user'] as const;
const NOTE = { '--note <text>': 'reason; stored with your name in the history' } as const;
const LIMIT = { '--limit <number>': 'maximum number (default: 100)' } as const;

const allowBalance = (verb: 'allow' | 'refuse', summary: string) =>
  defineCommand({
    name: `balances ${verb}`,
    summary,
    arguments: [USER],
    options: NOTE,
    shape: 'BalanceChange',
    run: async (settings, ...call): Promise<Outcome<'BalanceChange'>> =>
      (await import('./balances.js')).allowBalanceCommand(settings, verb === 'allow', ...call),
  });

export const BALANCE_COMMANDS = [
  defineCommand({
    name: 'balances list',
    summary: 'list accounts with a prepaid balance, and those that may top up',
    options: LIMIT,
    shape: 'Balances',
    run: async (...call): Promise<Outcome<'Balances'>> => (await import('./balances.js')).listBalancesCommand(...call),
  }),
  defineCommand({
    name: 'balances show',
    summary: 'show a prepaid balance and its latest movements',
    arguments: [USER],
    shape: 'BalanceDetails',
    run: async (...call): Promise<Outcome<'BalanceDetails'>> =>
      (await import('./balances.js')).showBalanceCommand(...call),
  }),
  allowBalance('allow', 'let an account top up'),
  allowBalance('refuse', 'let an account top up no longer; what is left can be used'),
  defineCommand({
    name: 'balances adjust',
    summary: 'add money to a balance without an order, or take it away',
    arguments: [USER, ['amount', 'e.g. "5 EUR"; after -- also "-5 EUR", at most what is free']],
    options: NOTE,
    shape: 'BalanceChange',
    run: async (...call): Promise<Outcome<'BalanceChange'>> =>
      (await import('./balances.js')).adjustBalanceCommand(...call),
  }),
  defineCommand({
    name: 'balances resume',
    summary: 'end the hold of a balance after usage beyond a reservation',
    arguments: [USER],
    options: NOTE,
    shape: 'BalanceChange',
    run: async (...call): Promise<Outcome<'BalanceChange'>> =>
      (await import('./balances.js')).resumeBalanceCommand(...call),
  }),
  defineCommand({
    name: 'balances statement',
    summary: 'print all movements of a balance as CSV',
    arguments: [USER],
    shape: 'BalanceStatement',
    run: async (...call): Promise<Outcome<'BalanceStatement'>> =>
      (await import('./balances.js')).balanceStatementCommand(...call),
  }),
  defineCommand({
    name: 'balances check',
    summary: 'check that the ledger sums up to zero and agrees with all balances',
    shape: 'LedgerCheck',
    run: async (...call): Promise<Outcome<'LedgerCheck'>> =>
      (await import('./balances.js')).checkBalancesCommand(...call),
  }),
];
