/*
 * What commands do with `--server`: a table of the commands that the admin API can serve, each with its route, its
 * options and the columns of its table. A command without a row works on the state of this machine and is refused, as is
 * an option that its route does not have, so that nothing happens elsewhere than where it was meant.
 */

import { renderTable } from '../../format/index.js';
import type { CommandDeclaration } from '../define-command.js';
import { readLiveServer, readModelChange } from '../gateway/model-options.js';
import { CommandFailure, CommandMistake } from '../mistakes.js';
import type { Outcome } from '../output.js';
import type { AdminClient, Json, RemoteQuery } from './admin-client.js';
import { cell, factsOf, tableOf } from './remote-output.js';
import { REMOTE_READS } from './remote-reads.js';

type Options = Readonly<Record<string, unknown>>;

export interface RemoteCommand {
  /** Options that it has, by the name of the parser. */
  options: readonly string[];
  run(client: AdminClient, args: readonly string[], options: Options): Promise<Outcome>;
}

const DEFAULT_ROWS = 100;

/** A list as a table; as JSON the rows, as the command prints them on the machine itself. */
function list(path: string, columns: readonly string[], query: Readonly<Record<string, string>> = {}): RemoteCommand {
  return {
    options: [...Object.keys(query), 'limit'],
    async run(client, _args, options) {
      const asked: RemoteQuery = Object.fromEntries(
        Object.entries(query).map(([option, param]) => [param, textOf(options[option])]),
      );
      const limit = options.limit === undefined ? DEFAULT_ROWS : Number(options.limit);
      if (!Number.isInteger(limit) || limit < 1 || limit > 1_000)
        throw new CommandMistake('--limit must be a whole number from 1 to 1000.');
      const rows = await client.list(path, asked, limit);
      return { json: rows, text: tableOf(rows, columns) };
    },
  };
}

/** A list that the gateway answers as a whole. */
function whole(path: string, columns: readonly string[]): RemoteCommand {
  return {
    options: [],
    async run(client) {
      const { data } = (await client.get(path)) as { data: Json[] };
      return { json: data, text: tableOf(data, columns) };
    },
  };
}

function show(path: string): RemoteCommand {
  return {
    options: [],
    async run(client, [id = '']) {
      const json = await client.get(`${path}/${encodeURIComponent(id)}`);
      return { json, text: factsOf(json) };
    },
  };
}

/** A change. @param fields Option → field of the body. @param text What is printed without `--json`. */
function change(
  path: (args: readonly string[]) => string,
  fields: Readonly<Record<string, string>>,
  text: (json: Json) => string = factsOf,
): RemoteCommand {
  return {
    options: Object.keys(fields),
    async run(client, args, options) {
      const body = Object.entries(fields).flatMap(([option, name]) => {
        const value = options[option];
        return value === undefined ? [] : [[name, fieldOf(name, value)] as const];
      });
      const json = await client.post(path(args), Object.fromEntries(body));
      return { json, text: text(json) };
    },
  };
}

const LISTS = ['grants', 'models'];
const NUMBERS = ['rpm', 'overlap_hours', 'hours'];
/** The words for null. */
const WITHOUT: Readonly<Record<string, string>> = { rpm: 'unlimited', expires_at: 'never', group: 'none' };

/** @throws CommandMistake */
function numberOf(field: string, value: unknown): number {
  const text = String(value);
  if (/^\d{1,9}(\.\d{1,6})?$/.test(text)) return Number(text);
  throw new CommandMistake(
    `--${field.replace('_', '-')} must be a number${field in WITHOUT ? `, or ${WITHOUT[field]}` : ''}.`,
  );
}

/** What an option gives, in the form of its field. */
function fieldOf(field: string, value: unknown): unknown {
  if (LISTS.includes(field)) {
    const names = [value]
      .flat()
      .flatMap((text) => String(text).split(','))
      .map((name) => name.trim());
    return field === 'models' && names.join() === 'all' ? null : names;
  }
  if (field === 'budgets') return [value].flat().join() === 'none' ? [] : [value].flat();
  if (field in WITHOUT)
    return value === WITHOUT[field] ? null : NUMBERS.includes(field) ? numberOf(field, value) : value;
  return NUMBERS.includes(field) ? numberOf(field, value) : value;
}

const NOTE = { note: 'note' };
const KEY_FIELDS = {
  name: 'name',
  grant: 'grants',
  rpm: 'rpm',
  models: 'models',
  budget: 'budgets',
  group: 'group',
  priority: 'priority',
  expires: 'expires_at',
};
const at =
  (path: string) =>
  ([id = '']: readonly string[]) =>
    path.replace(':id', encodeURIComponent(id));
const ofOrder = (verb: string) => change(at(`/orders/:id/${verb}`), NOTE);
const ofBalance = (verb: string) => change(at(`/balances/:id/${verb}`), NOTE);
const ofUser = (verb: string) => change(at(`/users/:id/${verb}`), NOTE);
const keyOf = ({ key }: Json) => String(key);

/** By the name of the command. */
export const REMOTE_COMMANDS: Readonly<Record<string, RemoteCommand>> = {
  ...REMOTE_READS,
  'models list': whole('/models', ['id', 'provider', 'health', 'context_length', 'routes']),
  'models test': {
    options: ['request'],
    async run(client, [model = ''], { request }) {
      const json = await client.post(at('/models/:id/test')([model]), request === false ? { request } : {});
      const rows = json.results as Json[];
      const lines = rows.map(({ ok, detail, advice }) => [ok ? 'ok' : 'fail', cell(detail), cell(advice)]);
      return { json: rows, text: renderTable(['RESULT', 'FOUND', 'ADVICE'], lines), exitCode: json.ok ? 0 : 1 };
    },
  },
  'models update': {
    options: ['on', 'off', 'weight', 'price', 'asConfigured', 'accept', 'note'],
    async run(client, [name = ''], { note, ...options }) {
      const { data } = (await client.get('/models')) as { data: Json[] };
      const before = data.find(({ id }) => id === name)?.prices as Parameters<typeof readModelChange>[1];
      const body = readModelChange(options as Parameters<typeof readModelChange>[0], before);
      const json = await client.post(at('/models/:id')([name]), { ...body, ...(note !== undefined && { note }) });
      return { json: { id: json.id, changed: json.changed ?? [] }, text: `${cell(json.id)} is changed.` };
    },
  },
  'models add': {
    options: ['url', 'keyVariable', 'model', 'contextLength', 'format', 'live', 'note'],
    async run(client, [id = ''], { note, ...options }) {
      const { contextLength, ...server } = readLiveServer(options as Parameters<typeof readLiveServer>[0]);
      const length = contextLength === undefined ? {} : { context_length: contextLength };
      const json = await client.post('/models', { id, ...server, ...length, ...(note !== undefined && { note }) });
      const added = { id, ...(server.model !== undefined && { model: server.model }) };
      return { json: { id, provider: json.provider, model: added }, text: `Added ${cell(id)}. It answers now.` };
    },
  },
  'models remove': {
    options: ['note'],
    async run(client, args, options) {
      const { json } = await change(at('/models/:id/remove'), NOTE).run(client, args, options);
      const { id } = json as Json;
      return { json: { id, changed: [] }, text: `${cell(id)} is removed.` };
    },
  },
  plugins: whole('/plugins', ['id', 'state', 'provides', 'serves', 'reason']),
  doctor: {
    options: [],
    async run(client) {
      const { data } = (await client.get('/doctor')) as { data: Json[] };
      const lines = data.map(({ level, name, detail, advice }) => [level, name, detail, advice ?? ''].map(cell));
      const exitCode = data.some(({ level }) => level === 'fail') ? 1 : 0;
      return { json: data, text: renderTable(['LEVEL', 'CHECK', 'FOUND', 'ADVICE'], lines), exitCode };
    },
  },
  'keys list': list('/keys', ['id', 'name', 'account', 'plan', 'grants', 'rpm', 'state', 'created_at', 'expires_at']),
  'keys show': show('/keys'),
  'keys create': change(() => '/keys', { ...KEY_FIELDS, account: 'account', plan: 'plan' }, keyOf),
  'keys update': change(at('/keys/:id'), { ...KEY_FIELDS, ...NOTE }),
  'keys rotate': change(at('/keys/:id/rotate'), { overlapHours: 'overlap_hours', ...NOTE }, keyOf),
  'keys revoke': {
    options: ['keepJobs'],
    async run(client, [id = ''], { keepJobs }) {
      const json = await client.post(`/keys/${encodeURIComponent(id)}/revoke`, { jobs: keepJobs ? 'keep' : 'cancel' });
      return { json, text: `Key ${cell(json.id)} is revoked.` };
    },
  },
  'groups list': whole('/groups', ['name', 'keys', 'created_at']),
  'groups create': {
    options: ['budget', 'note'],
    async run(client, [name = ''], { budget, note }) {
      const budgets = fieldOf('budgets', budget ?? []);
      const json = await client.post('/groups', { name, budgets, ...(note !== undefined && { note }) });
      return { json, text: `Group ${cell(json.name)} is created.` };
    },
  },
  'groups update': change(at('/groups/:id/budgets'), { budget: 'budgets', ...NOTE }, () => 'The budgets are changed.'),
  'groups delete': {
    options: ['releaseKeys'],
    async run(client, [name = ''], { releaseKeys }) {
      const json = await client.delete(`/groups/${encodeURIComponent(name)}${releaseKeys ? '?release_keys=true' : ''}`);
      return { json, text: `Group ${cell(json.name)} is deleted.` };
    },
  },
  'budgets list': whole('/budgets', ['of', 'id', 'unit', 'limit', 'left', 'resets']),
  'budgets set': change(at('/accounts/:id/budgets'), { budget: 'budgets', ...NOTE }, () => 'The budgets are changed.'),
  usage: {
    options: ['key', 'group', 'from', 'to', 'by'],
    async run(client, _args, { by = 'day', ...query }) {
      const json = await client.get('/usage', { by: String(by), ...mapTexts(query) });
      const rows = json.data as Json[];
      const costs = rows.some(({ cost }) => cost !== undefined) ? ['cost'] : [];
      return {
        json: rows,
        text: tableOf(rows, ['name', 'requests', 'failed', 'input_tokens', 'output_tokens', ...costs]),
      };
    },
  },
  'users list': list('/users', ['id', 'account', 'email', 'name', 'plan', 'state', 'created_at', 'last_sign_in_at']),
  'users show': show('/users'),
  'users suspend': ofUser('suspend'),
  'users resume': ofUser('resume'),
  'users sign-out': ofUser('sign_out'),
  'plans grant': {
    options: ['note'],
    async run(client, [id = '', plan = ''], { note }) {
      const json = await client.post(`/users/${encodeURIComponent(id)}/plan`, {
        plan,
        ...(note !== undefined && { note }),
      });
      return { json, text: factsOf(json) };
    },
  },
  'users invitations': list('/invitations', ['id', 'role', 'name', 'user', 'plan', 'invited_by', 'expires_at']),
  'users invite': {
    options: ['operator', 'billing', 'name', 'plan', 'hours', 'user', 'note'],
    async run(client, _args, { operator, billing, ...given }) {
      const role = operator ? 'operator' : billing ? 'billing' : 'member';
      const fields = Object.entries(given).map(([name, value]) => [name, fieldOf(name, value)] as const);
      const json = await client.post('/invitations', { role, ...Object.fromEntries(fields) });
      return { json, text: cell(json.link) };
    },
  },
  'users uninvite': {
    options: ['note'],
    async run(client, args, options) {
      const done = await change(at('/invitations/:id/withdraw'), NOTE).run(client, args, options);
      if (!(done.json as Json).withdrawn) throw new CommandFailure(`There is no open invitation ${cell(args[0])}.`);
      return done;
    },
  },
  'balances list': {
    options: ['limit'],
    async run(client, args, options) {
      const { json } = await list('/balances', []).run(client, args, options);
      const rows = (json as Json[]).map(({ balance, ...row }) => ({ ...(balance as Json | null), ...row }));
      return {
        json,
        text: tableOf(rows, ['account', 'may_top_up', 'currency', 'amount', 'reserved', 'on_hold_since']),
      };
    },
  },
  'balances allow': ofBalance('allow'),
  'balances refuse': ofBalance('refuse'),
  'balances adjust': {
    options: ['note'],
    async run(client, [id = '', amount = ''], { note }) {
      if (note === undefined) throw new CommandMistake('The admin API needs a reason: add --note.');
      const json = await client.post(`/balances/${encodeURIComponent(id)}/adjust`, { amount, note });
      return { json, text: factsOf(json) };
    },
  },
  'balances resume': ofBalance('resume'),
  'payments list': list(
    '/orders',
    ['code', 'account', 'plan', 'state', 'amount', 'paid_amount', 'currency', 'created_at'],
    {
      state: 'state',
      account: 'account',
    },
  ),
  'payments show': show('/orders'),
  'payments confirm': ofOrder('confirm'),
  'payments cancel': ofOrder('cancel'),
  'payments refund': ofOrder('refund'),
  'jobs list': list('/jobs', ['id', 'kind', 'state', 'age_seconds', 'runs', 'account', 'key', 'error'], {
    kind: 'kind',
    state: 'state',
    account: 'account',
  }),
  'jobs show': show('/jobs'),
  'jobs cancel': change(at('/jobs/:id/cancel'), NOTE),
  'jobs retry': change(at('/jobs/:id/retry'), NOTE),
  'alerts list': {
    options: ['all', 'limit'],
    run: (client, args, { all, ...options }) =>
      list('/alerts', ['id', 'state', 'opened_at', 'closed_at', 'times', 'title'], { state: 'state' }).run(
        client,
        args,
        {
          ...options,
          ...(all !== true && { state: 'active' }),
        },
      ),
  },
  'alerts acknowledge': change(at('/alerts/:id/acknowledge'), NOTE),
  'incidents list': list('/incidents', ['id', 'kind', 'started_at', 'ended_at', 'state', 'title']),
  'incidents add': {
    options: ['kind', 'message', 'from'],
    async run(client, [title = ''], { kind, message, from }) {
      const given = { ...(kind !== undefined && { kind }), ...(message !== undefined && { message }) };
      const json = await client.post('/incidents', {
        title,
        ...given,
        ...(from !== undefined && { started_at: from }),
      });
      return { json, text: `Incident ${cell(json.id)} is on the status page.` };
    },
  },
  'incidents update': {
    options: ['state'],
    async run(client, [id = '', text = ''], { state }) {
      const json = await client.post(at('/incidents/:id/updates')([id]), {
        text,
        ...(state !== undefined && { state }),
      });
      return { json, text: `The update of ${cell(json.id)} is on the status page.` };
    },
  },
  'incidents rename': {
    options: [],
    async run(client, [id = '', title = '']) {
      const json = await client.post(at('/incidents/:id')([id]), { title });
      return { json, text: `Incident ${cell(json.id)} has its new title.` };
    },
  },
  'incidents close': change(at('/incidents/:id/close'), { message: 'outcome' }),
};

/** Runs a command on another gateway. @throws CommandMistake if it, or an option, cannot be used with `--server`. */
export async function runRemote(
  { name, arguments: declared = [] }: Pick<CommandDeclaration, 'name' | 'arguments'>,
  client: AdminClient,
  given: readonly unknown[],
): Promise<Outcome> {
  const command = REMOTE_COMMANDS[name];
  if (!command) {
    throw new CommandMistake(
      `"mediagate ${name}" works on this machine. Leave --server out, or run it where the gateway runs.`,
    );
  }
  const { json: _json, ...options } = given.at(-1) as Options;
  const unknown = Object.keys(options).find(
    (option) => !command.options.includes(option) && options[option] !== undefined,
  );
  if (unknown !== undefined) {
    const flag = unknown.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    throw new CommandMistake(`--${flag} cannot be used with --server.`);
  }
  const args = given.slice(0, declared.length).map((arg) => String(arg ?? ''));
  return command.run(client, args, options);
}

function mapTexts(options: Options): RemoteQuery {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [name, textOf(value)]));
}

function textOf(value: unknown): string | undefined {
  return value === undefined ? undefined : String(value);
}
