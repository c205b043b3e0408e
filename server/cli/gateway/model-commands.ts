/*
 * Declares the commands about models and their prices: list, test, add, update, remove and the import of list prices.
 * Some change the plugins file or the file of prices, which a start reads; `update`, `remove` and `add --live` change what
 * is stored in the database, which running gateways follow. The modules that a command imports do its work.
 */

import { defineCommand } from '../define-command.js';
import type { Outcome } from '../output.js';

const MODEL = 'id of the model';

export const importPrices = defineCommand({
  name: 'prices import',
  summary: 'import list prices from a public catalogue into PRICES_FILE, and show what changes',
  arguments: [['file', "LiteLLM's model_prices_and_context_window.json, or the api.json of models.dev"]],
  options: {
    '--model <id>': {
      text: 'model to import; with =NAME its name in the catalogue; may be repeated (default: all of PRICES_FILE)',
      many: true,
    },
    '--accept': 'also take prices that are 10 times higher or lower, and drop those that the catalogue lacks',
    '--dry-run': 'only show what would change',
  },
  examples: ['prices import api.json --model gpt-5.2=openai/gpt-5.2'],
  shape: 'ImportedPrices',
  run: async (...call): Promise<Outcome<'ImportedPrices'>> =>
    (await import('./prices.js')).importPricesCommand(...call),
});

export const testModel = defineCommand({
  name: 'models test',
  summary: 'ask the upstreams of a model, and send it one short request',
  arguments: [['model', MODEL]],
  options: { '--no-request': 'only ask what costs nothing' },
  shape: 'ModelTests',
  run: async (...call): Promise<Outcome<'ModelTests'>> => (await import('./models.js')).testModelCommand(...call),
});

export const addModel = defineCommand({
  name: 'models add',
  summary: 'add a text model to the plugins file',
  arguments: [['model', `${MODEL}, for clients`]],
  options: {
    '--url <address>': 'address of its server, e.g. http://127.0.0.1:11434/v1',
    '--key-variable <name>': 'environment variable with the key of the server (default: none is sent)',
    '--provider <id>': 'add it to this provider of the file, in place of --url',
    '--upstream <name>':
      'name of the upstream of that provider (default: all have the model); with --url and a model that exists: name of a further server of it',
    '--model <name>': "the server's own name of the model (default: its id)",
    '--routes <routes>': {
      text: 'chat_completions, responses, embeddings or moderations, separated by commas',
      suggests: ['chat_completions', 'responses', 'embeddings', 'moderations'],
    },
    '--context-length <tokens>': { text: 'tokens of input and output together', number: true },
    '--live': 'store it in the database, so that running gateways add it without a restart, in place of the file',
    '--format <format>': {
      text: 'with --live: format of the server, openai or anthropic (default: openai)',
      values: ['openai', 'anthropic'],
    },
    '--note <text>': 'with --live: reason; stored with your name in the history',
  },
  help: `With --live, and with --server, the key is read from the variable, and stored encrypted. A model that was added so before gets
the new server and key. A server in a private network must be named in TRUSTED_ORIGINS.`,
  examples: [
    'models add qwen3:32b --url http://127.0.0.1:11434/v1',
    'models add team-llama --live --url https://api.example.com/v1 --key-variable TEAM_KEY',
  ],
  shape: 'AddedModel',
  run: async (...call): Promise<Outcome<'AddedModel'>> => (await import('./models.js')).addModelCommand(...call),
});

export const updateModel = defineCommand({
  name: 'models update',
  summary: 'switch a model off or on, weigh its upstreams or set its prices; running gateways follow within 2 seconds',
  arguments: [['model', `${MODEL}, or another name of it`]],
  options: {
    '--off': { text: 'refuse new requests, and show it in no list', conflicts: 'on' },
    '--on': 'take requests again',
    '--weight <upstream=number>': {
      text: 'share of the requests of an upstream, 0 to 1000; one for each upstream',
      many: true,
    },
    '--price <price=amount>': {
      text: 'price of the model as in PRICES_FILE, such as input=1.25; an empty amount removes it',
      many: true,
    },
    '--as-configured <what>': { text: 'weights or prices as in the files again', many: true },
    '--accept': 'also take prices that vanish, or are 10 times others',
    '--note <text>': 'reason; stored with your name in the history',
  },
  examples: [
    'models update m-5.5 --off',
    'models update m-5.5 --weight first=3 --weight second=1',
    'models update m-5.5 --price input=1.25 --price output=10',
  ],
  shape: 'ChangedModel',
  run: async (...call): Promise<Outcome<'ChangedModel'>> =>
    (await import('./model-changes.js')).updateModelCommand(...call),
});

export const removeModel = defineCommand({
  name: 'models remove',
  summary: 'remove a model that was added with --live, on a page or by the admin API',
  arguments: [['model', MODEL]],
  options: { '--note <text>': 'reason; stored with your name in the history' },
  shape: 'ChangedModel',
  run: async (...call): Promise<Outcome<'ChangedModel'>> =>
    (await import('./model-changes.js')).removeModelCommand(...call),
});

/** In the order of the help. */
export const MODEL_COMMANDS = [
  defineCommand({
    name: 'models list',
    isDefault: true,
    summary: 'list the models that are served, with upstream, context length and routes',
    shape: 'Models',
    run: async (...call): Promise<Outcome<'Models'>> => (await import('./models.js')).listModelsCommand(...call),
  }),
  testModel,
  addModel,
  updateModel,
  removeModel,
  importPrices,
];
