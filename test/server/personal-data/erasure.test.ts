/** Erasure and export of everything that is stored of a person. */

import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'chai';
import { openDatabase } from '../../../core/database/database.js';
import type { UserRecord } from '../../../server/accounts/tables.js';
import { createPepper } from '../../../server/keys/index.js';
import type { State } from '../../../server/state.js';
import { transfer } from '../../support/accounts/people.js';
import { type UsedAccount, useAccount } from '../../support/accounts/used-account.js';
import { codeOf } from '../../support/code-of.js';
import { engines, type Place } from '../../support/databases/engines.js';

const PERSON = {
  issuer: 'https://id.example',
  subject: 'subject-of-zacharias',
  email: 'Zacharias.Quill@mail.example',
  name: 'Zacharias Quill',
};
const PROMPT = 'a lighthouse of paper behind glass';
const HOOK = 'https://hooks.zq.example/secret-path';
/** Texts that belong to the person alone. */
const PERSONAL = [/zacharias/i, /quill/i, /lighthouse/, /hooks\.zq/, /nightly import/, /shop website/, /zq-agent/];
const HASH = 'f00d'.repeat(16);
/** More than one batch. */
const QUEUED = 70;

for (const engine of engines) {
  describe(`erasure of a person on ${engine.name}`, () => {
    let place: Place;
    let state: State;
    let user: UserRecord;
    let used: UsedAccount;

    beforeEach(async function () {
      place = await engine.reusedPlace(this);
      state = await place.open();
      user = await state.users.signIn(PERSON);
      used = await useAccount(state, user, createPepper(Buffer.alloc(32, 'pepper')));
    });
    afterEach(() => place?.remove());

    async function read<Row>(
      select: (database: Awaited<ReturnType<typeof openDatabase>>) => Promise<Row>,
    ): Promise<Row> {
      const database = await openDatabase(place);
      try {
        return await select(database);
      } finally {
        await database.close();
      }
    }

    /** Every row of every table, by table. */
    const tables = () =>
      read(async ({ queries }) => {
        const found = new Map<string, Record<string, unknown>[]>();
        for (const { name } of await queries.introspection.getTables()) {
          found.set(
            name,
            await queries
              .selectFrom(name as 'jobs')
              .selectAll()
              .execute(),
          );
        }
        return found;
      });

    const fileNames = () => readdir(path.join(place.dataDir, 'files'), { recursive: true });

    async function write(name: string, text: string): Promise<string> {
      const body = Buffer.from(text);
      await state.files.write({ name, contentType: 'image/png', expiresAt: new Date(Date.now() + 9e6), body });
      return name;
    }

    const summaryOf = (files: readonly string[]) => ({
      model: 'm-image',
      delivery: 'url',
      requestId: null,
      owner: user.accountId,
      files,
    });

    async function submit(files: readonly string[] = []) {
      const job = { kind: 'image', owner: user.accountId, keyId: 'key', maxActive: 1_000 } as const;
      const input = { prompt: PROMPT };
      const accepted = await state.jobs.accept({ job: { ...job, summary: summaryOf(files), input, webhookUrl: HOOK } });
      return accepted.job?.id ?? '';
    }

    async function end(result: object): Promise<void> {
      let done = false;
      const workers = state.jobs.work({
        kind: 'image',
        concurrency: 1,
        run: async () => {
          done = true;
          return result;
        },
      });
      while (!done || (await state.jobs.active('image')) > 0) await new Promise((resolve) => setTimeout(resolve, 5));
      await workers.stop();
    }

    /** Leaves something of the person in every table that may hold it. */
    async function fill(): Promise<void> {
      const { id: userId, accountId } = user;
      await state.sessions.create({ hash: HASH, userId, kind: 'browser', idleMs: 60_000, lifetimeMs: 60_000 });
      await state.webhooks.rotateSecret(accountId);
      const importing = (await state.keys.listOf(accountId)).find(({ name }) => name === 'nightly import');
      const rename = { id: importing?.id ?? '', change: { name: PERSON.name }, actor: 'operator:ann' };
      await state.keys.update({ ...rename, note: 'asked by telephone' });
      await state.users.suspend({ userId, actor: 'operator:ann', note: `wrote from ${PERSON.email}` });
      await state.users.resume({ userId, actor: 'operator:ann' });
      await state.sessions.create({ hash: HASH, userId, kind: 'browser', idleMs: 60_000, lifetimeMs: 60_000 });
      const other = await state.users.signIn({
        ...PERSON,
        subject: 'other',
        email: 'other@mail.example',
        name: 'Other',
      });
      await state.users.suspend({
        userId: other.id,
        actor: 'operator:ann',
        note: `friend of ${PERSON.name}, see ticket 7`,
      });
      const [paid] = used.orders;
      await state.orders.record(transfer(`${paid?.code} ${PERSON.name}`, { id: 'T-1', amount: 5 }));
      state.storedResponses.remember({
        id: 'resp_zq',
        owner: accountId,
        model: 'm-5.5',
        upstream: 'https://a.example',
        createdAt: Date.now(),
      });
      await state.storedResponses.flushInTime();

      const reference = await write('ref_zq.png', PROMPT);
      await submit([reference]);
      const [name, rawName] = [await write('img_zq.png', PROMPT), await write('img_zq_raw.png', PROMPT)];
      await end({ image: { name, rawName, contentType: 'image/png' }, caption: PROMPT });
      for (let index = 0; index < QUEUED; index += 1) await submit();

      const spent = {
        kind: 'budget_used' as const,
        subject: `account ${accountId} tokens/lifetime`,
        detail: { name: PERSON.name },
      };
      await state.alerts.note([spent]);

      const shared = { kind: 'extraction', dedupeKey: 'shared', summary: {}, input: {}, maxActive: 9 } as const;
      await state.jobs.accept({ job: { ...shared, owner: accountId } });
      await state.jobs.accept({ job: { ...shared, owner: other.accountId } });

      await state.requestLog.inputs.watch();
      await state.requestLog.inputs.setDays(accountId, 7);
      const asked = { keyId: importing?.id ?? '', at: Date.now(), text: PROMPT };
      for (const requestId of ['req_zq_1', 'req_zq_2'])
        state.requestLog.inputs.keep({ ...asked, accountId, requestId });
      await state.requestLog.inputs.flush();

      const answer = { scope: accountId, key: 'one', fingerprint: 'f', accountId };
      const claim = await state.idempotentResponses.claim(answer);
      if (claim.state !== 'begun') throw new Error('the key is taken');
      await write(`${claim.work.id}.bin`, PROMPT);
      await state.idempotentResponses.keep(claim.work, { status: 200, headers: {}, bytes: 9 });
    }

    /** What bookkeeping adds up to. */
    async function sums() {
      const all = await tables();
      const rows = (name: string) => all.get(name) ?? [];
      const sum = (name: string, column: string) => rows(name).reduce((total, row) => total + Number(row[column]), 0);
      return {
        orders: rows('orders')
          .map(({ code, state, amount, paidAmount }) => [code, state, amount, paidAmount].join())
          .sort(),
        transfers: [rows('bank_transactions').length, sum('bank_transactions', 'amount')],
        totals: [sum('usage_totals', 'requests'), sum('usage_totals', 'outputTokens')],
        budgets: sum('budgets', 'tokensUsed'),
        charges: sum('job_charges', 'units'),
        grants: rows('plan_grants').length,
      };
    }

    const erase = async () => {
      const erasure = await state.erasures.begin({ userId: user.id, actor: `user:${user.id}` });
      await state.erasures.work(erasure.accountId, {
        files: state.files,
        deleteResponse: async ({ id }) => void deleted.push(id),
      });
      return erasure;
    };
    let deleted: string[] = [];
    beforeEach(() => {
      deleted = [];
    });

    async function expectNothingLeft(): Promise<void> {
      for (const [name, rows] of await tables()) {
        for (const personal of PERSONAL) expect(JSON.stringify(rows), name).not.to.match(personal);
        expect(JSON.stringify(rows), name).not.to.contain(HASH);
      }
      for (const name of await fileNames()) {
        const bytes = await readFile(path.join(place.dataDir, 'files', name)).catch(() => Buffer.alloc(0));
        for (const personal of PERSONAL) expect(bytes.toString(), name).not.to.match(personal);
      }
    }

    it('leaves nothing of the person in any table or file, and the bookkeeping unchanged', async () => {
      await fill();
      const before = await sums();
      const text = JSON.stringify([...(await tables())]);
      for (const personal of PERSONAL.slice(0, 6)) expect(text).to.match(personal);
      expect((await fileNames()).filter((name) => /zq|answer_/.test(name))).to.have.length.at.least(4);

      const { accountId } = await erase();
      await expectNothingLeft();
      expect(await sums()).to.deep.equal(before);
      expect((await fileNames()).filter((name) => /zq|answer_/.test(name))).to.deep.equal([]);
      expect(deleted).to.deep.equal(['resp_zq']);
      const left = (await tables()).get('usage_entries') ?? [];
      expect(left.filter((row) => row.accountId === accountId)).to.deep.equal([]);

      expect(await state.users.find(user.id)).to.equal(undefined);
      const keys = await state.keys.listOf(accountId);
      expect(keys.every(({ revokedAt, name }) => revokedAt !== null && name === 'erased')).to.equal(true);
      expect(await state.jobs.active('image')).to.equal(0);
      // Another account has joined it.
      expect(await state.jobs.active('extraction')).to.equal(1);
      const audit = await state.audit.list({ limit: 1_000 });
      const updates = audit.filter(({ action }) => action === 'key.updated');
      expect(updates.map(({ from, to, note }) => [from, to, note])).to.deep.equal([['name', 'name', null]]);
      expect(audit.filter(({ action }) => action === 'user.erased')).to.have.length(1);
      expect(audit.map(({ note }) => note)).to.include('friend of [erased], see ticket 7');
    });

    it('reduces the text of a later transfer to the code of its order', async () => {
      await erase();
      const open = used.orders.at(-1)?.code ?? '';
      const { transaction, order } = await state.orders.record(transfer(`${open} from ${PERSON.name}`));
      expect(transaction).to.include({ text: open, orderCode: open });
      expect(order?.code).to.equal(open);
      await expectNothingLeft();
    });

    it('runs once, accepts no key and no order after it, and a new sign-in is another person', async () => {
      const { accountId } = await erase();
      const again = state.erasures.begin({ userId: user.id, actor: 'operator:ann' });
      expect(await codeOf(again)).to.equal('user_not_found');
      const found = { userId: user.id, accountId, finishedAt: null };
      expect(await state.erasures.find(user.id)).to.include(found);
      expect(await state.erasures.find(accountId)).to.include(found);
      const key = { id: 'newkey01', name: 'new', hash: 'ab'.repeat(32), pepperVersion: 1 };
      const otherwise = { planId: 'free', grants: ['text'], rpm: 1, models: null } as const;
      const terms = { ...otherwise, imageDailyLimit: null, durationMs: null, budget: null };
      expect(await codeOf(state.keys.issue({ accountId, key, otherwise: terms, maxKeys: 99 }))).to.equal(
        'account_suspended',
      );
      const returned = await state.users.signIn(PERSON);
      expect(returned.id).not.to.equal(user.id);
      expect(returned.accountId).not.to.equal(accountId);
      expect(await state.keys.listOf(returned.accountId)).to.deep.equal([]);
    });

    it('is continued by the next sweep after an interruption', async () => {
      await fill();
      const { accountId } = await state.erasures.begin({ userId: user.id, actor: 'operator:ann' });
      let left = 2;
      const broken = async (name: string) => {
        left -= 1;
        if (left < 0) throw new Error('killed');
        await state.files.delete(name);
      };
      const failed = state.erasures.work(accountId, { files: { delete: broken } });
      expect(await failed.catch((error: Error) => error.message)).to.equal('killed');
      await state.close();

      state = await place.open();
      const work = { files: state.files, deleteResponse: async () => undefined };
      expect(await state.erasures.sweep(work)).to.equal(1);
      await expectNothingLeft();
      // A request that was running during the erasure.
      await submit();
      expect(await state.erasures.sweep(work)).to.equal(1);
      await expectNothingLeft();
      expect((await fileNames()).filter((name) => /zq|answer_/.test(name))).to.deep.equal([]);

      await read(({ queries }) => queries.updateTable('erasures').set({ startedAt: 1 }).execute());
      expect(await state.erasures.sweep(work)).to.equal(1);
      expect((await state.erasures.find(accountId))?.finishedAt).to.be.a('number');
      expect(await state.erasures.sweep(work)).to.equal(0);
    });

    it('retries a response that its upstream cannot delete', async () => {
      const response = { id: 'resp_zq', owner: user.accountId, model: 'm-5.5', upstream: 'https://a.example' };
      state.storedResponses.remember({ ...response, createdAt: Date.now() });
      await state.storedResponses.flushInTime();
      const { accountId } = await state.erasures.begin({ userId: user.id, actor: 'operator:ann' });
      const asked: unknown[] = [];
      const deleteResponse = async (response: object) => {
        asked.push(response);
        if (asked.length === 1) throw new Error('away');
      };
      for (let time = 0; time < 3; time += 1)
        await state.erasures.work(accountId, { files: state.files, deleteResponse });
      expect(asked).to.deep.equal(Array(2).fill({ id: 'resp_zq', owner: accountId, isOpen: false }));
    });

    it('exports everything before it, without a secret', async () => {
      await fill();
      const chunks: Uint8Array[] = [];
      for await (const bytes of state.personalExport.read(user)) chunks.push(bytes);
      const text = Buffer.concat(chunks).toString();
      const copy = JSON.parse(text);
      expect(copy.user).to.include({ id: user.id, email: PERSON.email, name: PERSON.name, subject: PERSON.subject });
      expect(copy.account).to.include({ id: user.accountId, planId: 'token_30m' });
      expect(copy.keys.map(({ name }: { name: string }) => name)).to.include.members(['laptop', 'shop website']);
      expect(copy.orders.map(({ code }: { code: string }) => code)).to.have.members(
        used.orders.map(({ code }) => code),
      );
      expect(text).to.contain(`${used.orders[0]?.code} ${PERSON.name}`);
      expect(copy.jobs).to.have.length(QUEUED + 2);
      expect(copy.jobs.filter(({ input }: { input?: { prompt?: string } }) => input?.prompt === PROMPT)).to.have.length(
        QUEUED,
      );
      expect(copy.jobs.some(({ result }: { result?: { caption?: string } }) => result?.caption === PROMPT)).to.equal(
        true,
      );
      expect(copy.jobs.some(({ webhookUrl }: { webhookUrl: string }) => webhookUrl === HOOK)).to.equal(true);
      expect(copy.webhooks.secret).to.include({ version: 2 });
      expect(copy.sessions).to.have.length(1);
      expect(copy.storedResponses.map(({ id }: { id: string }) => id)).to.deep.equal(['resp_zq']);
      expect(copy.history.map(({ action }: { action: string }) => action)).to.include('user.suspended');
      const all = await tables();
      const countOf = (name: string) => all.get(name)?.filter(({ accountId }) => accountId === user.accountId).length;
      expect(copy.usageEntries).to.have.length(countOf('usage_entries') ?? -1);
      expect(copy.usageTotals).to.have.length(countOf('usage_totals') ?? -1);
      expect(copy.requestInputs).to.have.length(2);
      expect(copy.requestInputs[0]).to.include({ requestId: 'req_zq_1', text: PROMPT });
      expect(copy.requestInputSettings).to.include({ days: 7 });
      expect(copy.planGrants).to.have.length(countOf('plan_grants') ?? -1);

      expect(text).not.to.contain(HASH);
      expect(text).not.to.contain(used.key);
      expect(text).not.to.match(/hash|pepper|fingerprint|operator:/i);
      for (const { hash } of await state.keys.listOf(user.accountId)) expect(text).not.to.contain(hash);
    });
  });
}
