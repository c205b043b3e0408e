/** Generated reference pages against the code. */

import { globSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'chai';
import type { Command } from 'commander';
import { readPluginConfig } from 'mediagate';
import type { Plugin } from 'mediagate/plugin';
import clipShop from 'mediagate/plugins/clip_shop';
import clipVideo from 'mediagate/plugins/clip_video';
import photo from 'mediagate/plugins/photo';
import social from 'mediagate/plugins/social';
import vidsite from 'mediagate/plugins/vidsite';
import { ModelPricesSchema } from '../core/contracts/index.js';
import { describeLimitation, LIMITATIONS } from '../core/extraction/limitation-messages.js';
import { isRetryable } from '../core/runtime/errors.js';
import { ERRORS, type ErrorCode } from '../core/runtime/index.js';
import { COMMANDS, createProgram } from '../server/cli/program.js';
import { EXTRACTION } from '../server/links/answer-schemas.js';
import { PLANS_FILE_SCHEMA } from '../server/plans/index.js';
import { PRICES_FILE_SCHEMA } from '../server/prices/index.js';
import { PLUGIN_SETTING_DESCRIPTIONS, SETTING_DESCRIPTIONS } from '../server/settings/index.js';
import { expectTable, renderTable } from './support/docs/documents.js';
import { type FieldSchema, fieldsOf, type SchemaField } from './support/docs/schema-rows.js';
import { ESSENTIAL_SETTINGS, SETTING_TOPICS } from './support/docs/setting-topics.js';
import { filledFields } from './support/models/filled-fields.js';
import { packageRoot } from './support/package-root.js';
import { SHAPES } from './support/processes/printed-shapes.js';

const { STATUS_CODES } = process.getBuiltinModule('node:http');

describe('docs/reference/errors.md', () => {
  // Each folder declares its own codes when it is loaded, and some folders are loaded on first use.
  before(async () => {
    const cwd = path.join(packageRoot, 'dist');
    for (const file of globSync('{core,server}/*/errors.js', { cwd })) await import(path.join(cwd, file));
  });

  it('explains every code, by status', () => {
    const codes = (Object.keys(ERRORS) as ErrorCode[]).sort();
    const byStatus = [...Map.groupBy(codes, (code) => ERRORS[code].status)].sort(([one], [other]) => one - other);
    const sections = byStatus.map(([status, some]) => {
      const rows = some.map((code) => {
        const { meaning, cause, action } = ERRORS[code];
        return [`\`${code}\``, `\`${ERRORS[code].type}\``, meaning, cause, retryOf(code), action];
      });
      const header = ['`error.code`', '`error.type`', 'meaning', 'usual cause', 'retry', 'what to do'];
      return `## ${status} ${STATUS_CODES[status]}\n\n${renderTable(header, rows)}`;
    });
    expectTable('errors', sections.join('\n\n'));
  });
});

/** Whether a retry of the same request may help, in words. */
function retryOf(code: ErrorCode): string {
  if (!isRetryable(code)) return 'no';
  return ERRORS[code].action.includes('`Retry-After`') ? 'yes, after `Retry-After`' : 'yes, later';
}

describe('docs/reference/document.md', () => {
  const [post, product, job] = EXTRACTION.schema.properties.data.anyOf as readonly FieldSchema[];
  const filled = new Map<string, Set<string>>();

  before(async () => {
    for (const plugin of [clipShop, clipVideo, vidsite, social, photo] as readonly Plugin[])
      filled.set(plugin.name, await filledFields(plugin));
  });

  it('describes the response around a document', () => {
    const { data: _, error: __, ...properties } = EXTRACTION.schema.properties;
    expectTable('response-fields', tableOf({ properties } as FieldSchema));
  });

  it('has every limitation with its message', () => {
    const rows = Object.entries(LIMITATIONS).map(([code, { example = code }]) => {
      return [`\`${example}\``, describeLimitation(example).message];
    });
    expectTable('limitations', renderTable(['note', 'message'], rows));
  });

  it('describes every field of posts and videos, and names the platforms that fill it', () => {
    expectTable('post-document', tableOf(post, filled));
  });

  it('describes every field of products, and names the platforms that fill it', () => {
    expectTable('product-document', tableOf(product, filled));
  });

  it('describes the job that replaces a document', () => {
    const { job: fields, queue } = job?.properties ?? {};
    expectTable('job-fields', tableOf({ properties: { job: fields ?? {}, queue: queue ?? {} } }));
  });
});

describe('docs/reference/plans.md', () => {
  it('describes every field of the plans file', () => {
    expectTable('plans-file', tableOf(PLANS_FILE_SCHEMA as FieldSchema));
  });
});

describe('docs/reference/prices.md', () => {
  it('describes every field of the prices file', () => {
    const { models, ...rest } = PRICES_FILE_SCHEMA.properties;
    expectTable('prices-file', tableOf({ properties: { ...rest, models } } as FieldSchema));
    expectTable('model-prices', tableOf(ModelPricesSchema as FieldSchema));
  });
});

describe('docs/reference/cli.md', () => {
  it('has the help of every command', () => {
    const sections = leavesOf(createProgram()).map((command) => {
      const [, ...words] = namesOf(command);
      return `## ${words.join(' ')}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\`${printedBy(words.join(' '))}`;
    });
    expect(sections).to.have.length.above(20);
    expectTable('commands', sections.join('\n\n'));
  });
});

/** The fields of the JSON of a command; those of a shape that an earlier command has are not repeated. */
function printedBy(name: string): string {
  const command = COMMANDS.find((one) => one.name === name);
  if (command?.json === false) return '';
  if (!command?.shape) throw new Error(`${name} prints JSON, but declares no shape`);
  const first = COMMANDS.find(({ shape }) => shape === command.shape)?.name;
  if (first !== name) return `\n\nJSON: that of \`${first}\`.`;
  const schema = SHAPES.get(command.shape) as FieldSchema;
  const lines = (schema.anyOf ?? [schema]).map(({ items, ...object }) => {
    const described = items ?? object;
    if (!described.properties) return `JSON: ${described.description}`;
    const fields = fieldsOf(described).map(({ path, type, description }) => `- \`${path}\` (${type}): ${description}`);
    return `JSON: ${items ? 'a list of objects' : 'an object'} with\n\n${fields.join('\n')}`;
  });
  return `\n\n${lines.join('\n\n')}`;
}

/** The commands that do something. */
function leavesOf(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);
}

function namesOf(command: Command): string[] {
  return [...(command.parent ? namesOf(command.parent) : []), command.name()];
}

/** As `--help` prints it. The settings of `serve`, which have a page of their own, are written later. */
function helpOf(command: Command): string {
  let text = '';
  const write = (part: string) => {
    text += part;
  };
  command.configureOutput({ writeOut: write, getOutHelpWidth: () => 100, getOutHasColors: () => false }).outputHelp();
  return text.trim();
}

describe('docs/reference/settings.md', () => {
  const all = new Map([...SETTING_DESCRIPTIONS, ...PLUGIN_SETTING_DESCRIPTIONS].map((one) => [one.name, one]));

  function tableOfSettings(names: readonly string[]): string {
    const rows = names.map((name) => {
      const setting = all.get(name);
      expect(setting, name).not.to.equal(undefined);
      return [`\`${name}\``, setting?.default ?? '', setting?.description ?? ''];
    });
    return renderTable(['variable', 'default', 'what it does'], rows);
  }

  it('lists the essential settings first', () => {
    expect(new Set(ESSENTIAL_SETTINGS)).to.have.lengthOf(20);
    expectTable('essential-settings', tableOfSettings(ESSENTIAL_SETTINGS));
  });

  it('lists every setting of the gateway once, by topic', () => {
    const named = SETTING_TOPICS.flatMap(({ names }) => names);
    expect(named).to.have.members(SETTING_DESCRIPTIONS.map(({ name }) => name));
    const sections = SETTING_TOPICS.map(({ title, names }) => `## ${title}\n\n${tableOfSettings(names)}`);
    expectTable('settings', sections.join('\n\n'));
  });
});

describe('docs/reference/plugin-options.md', () => {
  it('describes every option of the plugins of plugins.config.json', async () => {
    const entries = await readPluginConfig(path.join(packageRoot, 'plugins.config.json'), {});
    const sections: string[] = [];
    for (const use of new Set(entries.map((entry) => String(entry.use)))) {
      const { default: plugin }: { default: Plugin } = await import(use);
      const rows = fieldsOf((plugin.options ?? {}) as FieldSchema).map(
        ({ path: option, type, description, ...more }) => {
          expect(description, `${plugin.name} ${option}`).to.match(/\.$/);
          return [`\`${option}\``, type, defaultOf(more), description];
        },
      );
      const table = rows.length > 0 ? renderTable(['option', 'type', 'default', 'meaning'], rows) : 'No options.';
      sections.push(`## ${plugin.name}\n\n${plugin.summary}\n\n${table}`);
    }
    expect(sections).to.have.length.above(10);
    expectTable('plugin-options', sections.join('\n\n'));
  });
});

const MAX_DEFAULT = 80;

function defaultOf({ schema, isRequired }: Pick<SchemaField, 'schema' | 'isRequired'>): string {
  if (schema.default === undefined) return isRequired ? 'required' : 'none';
  const text = JSON.stringify(schema.default);
  return text.length > MAX_DEFAULT ? 'in the source' : `\`${text}\``;
}

/** @param filled Platform → the fields that it fills. Default: without a column of platforms. */
function tableOf(schema: FieldSchema | undefined, filled?: ReadonlyMap<string, ReadonlySet<string>>): string {
  const rows = fieldsOf(schema ?? {}).map(({ path, type, description, example }) => {
    expect(description, path).to.match(/\.$/);
    const shown = example === undefined ? '' : `\`${JSON.stringify(example)}\``;
    const platforms = [...(filled ?? [])].flatMap(([name, fields]) => (fields.has(path) ? [`\`${name}\``] : []));
    return [`\`${path}\``, type, description, ...(filled ? [platforms.join(' ')] : []), shown];
  });
  expect(rows).to.have.length.above(3);
  return renderTable(['field', 'type', 'meaning', ...(filled ? ['platforms'] : []), 'example'], rows);
}
