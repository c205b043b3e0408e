/*
 * Erases and exports what the audit log says about a person. Rows stay. Notes on the person's things are cleared by the
 * folders of those things, with `clearNotes`; here the person's name, address and subject are replaced in all other
 * notes and actors, as whole words. On SQLite the case of letters beyond ASCII matters. The export has no name or note
 * of an operator.
 */

import { type Kysely, type SelectQueryBuilder, sql, type Tables, type Transaction } from '../../core/database/index.js';
import { type Person, type PersonalRecords, pages, withTimes } from '../personal-records/index.js';

const ROWS = 500;
/** Shorter ones are parts of other words. */
const MIN_MENTION = 3;
const REPLACEMENT = '[erased]';

export const auditPersonalRecords: PersonalRecords = {
  tables: { audit_entries: 'cleared' },
  erase: clearMentions,
  exported: (database, { id, accountId }) => ({
    async *history() {
      for (const subject of [id, accountId]) {
        const rows = pages<{ number: number; actor: string }>(
          database,
          ROWS,
          (after) => (queries) =>
            queries
              .selectFrom('audit_entries')
              .select(['number', 'at', 'actor', 'action', 'from', 'to', 'amount', 'currency'])
              .where('subject', '=', subject)
              .where('number', '>', after?.number ?? 0)
              .orderBy('number')
              .limit(ROWS)
              .execute(),
        );
        for await (const { actor, number: _number, ...row } of rows) {
          yield { ...withTimes(row), by: actor.split(':', 1)[0] };
        }
      }
    },
  }),
};

/** Clears what people wrote about these subjects. Notes of banks are ids and amounts, and stay. */
export async function clearNotes(
  transaction: Transaction<Tables>,
  subjects: readonly string[] | SelectQueryBuilder<Tables, 'orders' | 'jobs', { id: string }>,
): Promise<void> {
  await transaction
    .updateTable('audit_entries')
    .set({ note: null })
    .where('note', 'is not', null)
    .where('action', '<>', 'order.money')
    .where('subject', 'in', subjects)
    .execute();
}

/** Replaces the person's name, address and subject in the rest of the audit log. */
async function clearMentions(transaction: Transaction<Tables>, { email, name, subject }: Person): Promise<void> {
  const texts = [email, name, subject].filter((text) => text !== null && text.length >= MIN_MENTION) as string[];
  if (texts.length === 0) return;
  const mentions = sql.join(
    texts.map((text) => sql`(${contains('note', text)} or ${contains('actor', text)})`),
    sql` or `,
  );
  const rows = await selectMentions(transaction, sql<boolean>`(${mentions})`);
  const words = texts.map((text) => text.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
  const whole = new RegExp(`(?<![\\p{L}\\p{N}])(?:${words.join('|')})(?![\\p{L}\\p{N}])`, 'giu');
  for (const { subject: of, number, note, actor } of rows) {
    const change = { note: note?.replace(whole, REPLACEMENT) ?? null, actor: withoutAddress(actor, [email, subject]) };
    await transaction
      .updateTable('audit_entries')
      .set(change)
      .where('subject', '=', of)
      .where('number', '=', number)
      .execute();
  }
}

function selectMentions(queries: Kysely<Tables>, mentioned: ReturnType<typeof sql<boolean>>) {
  return queries.selectFrom('audit_entries').select(['subject', 'number', 'note', 'actor']).where(mentioned).execute();
}

/** An operator may have the person's name. */
function withoutAddress(actor: string, texts: readonly (string | null)[]): string {
  return texts.some((text) => text !== null && text !== '' && actor.includes(text)) ? REPLACEMENT : actor;
}

/** Ignores case, in letters beyond ASCII only on PostgreSQL. */
function contains(column: 'note' | 'actor', text: string) {
  const like = (pattern: string) => `%${pattern.replace(/[\\%_]/g, '\\$&')}%`;
  const ref = sql.ref(column);
  return sql`(lower(${ref}) like ${like(text.toLowerCase())} escape '\\' or ${ref} like ${like(text)} escape '\\')`;
}
