/** Changes of the plugins file by commands. */

import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { expect } from 'chai';
import { appendToList } from '../../server/cli/gateway/plugins-file.js';
import { packageRoot } from '../support/package-root.js';

describe('a change of the plugins file', () => {
  const model = { id: 'a/b:1', contextLength: 4096 };
  const LINE = '{ "id": "a/b:1", "contextLength": 4096 }';

  it('inserts one line into a list of lines, and changes nothing else', () => {
    const text = '{\n\t"plugins": [\n\t\t{ "use": "x" },\n\t\t{ "use":"y" }\n\t]\n}\n';
    expect(appendToList(text, ['plugins'], model)).to.equal(
      `{\n\t"plugins": [\n\t\t{ "use": "x" },\n\t\t{ "use":"y" },\n\t\t${LINE}\n\t]\n}\n`,
    );
    expect(appendToList(text.replaceAll('\n', '\r\n'), ['plugins'], model)).to.contain(
      `{ "use":"y" },\r\n\t\t${LINE}\r\n\t]`,
    );
  });

  it('continues a list in one line, and begins an empty one', () => {
    expect(appendToList('{"plugins":[1, [2,"]\\"}"] ]}', ['plugins'], model)).to.equal(
      `{"plugins":[1, [2,"]\\"}"], ${LINE} ]}`,
    );
    expect(appendToList('{"a":[[ ]]}', ['a', 0], 'x')).to.equal('{"a":[[\n  "x"\n]]}');
    expect(appendToList('{\n    "a": []\n}', ['a'], 'x')).to.equal('{\n    "a": [\n        "x"\n    ]\n}');
  });

  it('writes long values in several lines', () => {
    const long = { id: 'x'.repeat(50), options: { models: [model], upstreams: [{ url: 'y'.repeat(12) }] } };
    const lines = appendToList('{\n  "plugins": [\n    1\n  ]\n}', ['plugins'], long).split('\n');
    expect(lines.slice(2, 6)).to.deep.equal([
      '    1,',
      '    {',
      `      "id": "${'x'.repeat(50)}",`,
      `      "options": { "models": [${LINE}], "upstreams": [{ "url": "${'y'.repeat(12)}" }] }`,
    ]);
    expect(Math.max(...lines.map((line) => line.length))).to.be.at.most(120);
  });

  it('reads the last of two fields with one name, as the gateway does', () => {
    expect(appendToList('{"a":[1],"a":[2]}', ['a'], 3)).to.equal('{"a":[1],"a":[2, 3]}');
  });

  it('keeps the built-in file unchanged, apart from the insertion', async () => {
    const builtIn = await readFile(path.join(packageRoot, 'plugins.config.json'), 'utf8');
    const entry = { id: 'listed', use: 'mediagate/plugins/openai_text', options: { models: [{ id: 'x'.repeat(99) }] } };
    const text = appendToList(builtIn, ['plugins'], entry);
    const config = JSON.parse(text);
    const index = config.plugins.findIndex(({ id }: { id?: string }) => id === 'listed');
    const changed = appendToList(text, ['plugins', index, 'options', 'models'], model);
    config.plugins[index].options.models.push(model);
    expect(JSON.parse(changed)).to.deep.equal(config);
    expect(changed.replace(`,\n          ${LINE}`, '')).to.equal(text);
  });

  it('refuses a path without a list', () => {
    expect(() => appendToList('{"a":1}', ['a'], 1)).to.throw('there is no list at this path');
    expect(() => appendToList('{"a":1}', ['b'], 1)).to.throw('there is nothing at this path');
  });
});
