/** Validation of values: what is accepted without a compiled schema is what Ajv accepts, with the same defaults. */

import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'chai';
import fc from 'fast-check';
import { PostDataSchema, ProductDataSchema, Type } from '../../../core/contracts/index.js';
import { isPlain, satisfies } from '../../../core/runtime/plain-schema.js';
import { createValidator } from '../../../core/runtime/validation.js';

const ajv = new Ajv2020({ useDefaults: true, strict: true, strictTypes: false, allowUnionTypes: true });

/** Names that schemas and values have in common, so that values often fit; among them one that objects inherit. */
const name = fc.constantFrom('a', 'b', 'ab', 'constructor', '__proto__');
const simple = fc.oneof(
  fc.constantFrom(null, true, false, 0, -0, 1, 1.5, -3, 2 ** 53),
  fc.constantFrom('', 'a', 'ab', '😀', 'a😀', 'abc'),
);
const { value: values } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    simple,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.array(fc.tuple(name, tie('value')), { maxLength: 3 }).map(objectOf),
  ),
}));
const { schema: schemas } = fc.letrec<{ schema: Record<string, unknown> }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 3 },
    fc.record(
      {
        type: fc.constantFrom(
          'string',
          'number',
          'integer',
          'null',
          'boolean',
          ['string', 'null'],
          ['array', 'object'],
        ),
        minLength: fc.nat(2),
        maxLength: fc.nat(3),
        pattern: fc.constantFrom('^a', '^.$', 'b|c'),
        minimum: fc.integer({ min: -2, max: 2 }),
        exclusiveMaximum: fc.constantFrom(1, 1.5),
        title: fc.constant('a title'),
      },
      { requiredKeys: [] },
    ),
    fc.record({ enum: fc.uniqueArray(simple, { minLength: 1, maxLength: 3, selector: String }) }),
    fc.record({ const: simple }),
    fc.record({ anyOf: fc.array(tie('schema'), { minLength: 1, maxLength: 3 }) }),
    fc.record({ type: fc.constant('array'), items: tie('schema'), maxItems: fc.nat(2) }, { requiredKeys: ['type'] }),
    fc
      .record(
        {
          properties: fc.array(fc.tuple(name, tie('schema')), { maxLength: 3 }).map(objectOf),
          required: fc.uniqueArray(name, { maxLength: 2 }),
          additionalProperties: fc.oneof(fc.boolean(), tie('schema')),
          minProperties: fc.nat(2),
          withDefault: simple,
        },
        { requiredKeys: ['properties'] },
      )
      .map(({ withDefault, ...schema }) => addDefault({ type: 'object', ...schema }, withDefault)),
  ),
}));

function objectOf(entries: readonly (readonly [string, unknown])[]): object {
  return JSON.parse(`{${entries.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(',')}}`);
}

function addDefault({ properties, ...schema }: { type: string; properties: object }, value: unknown) {
  const entries = Object.entries(properties as Record<string, object>);
  if (value === undefined || entries.length === 0) return { properties, ...schema };
  const [[first, property] = ['', {}], ...others] = entries;
  return { ...schema, properties: objectOf([[first, { ...property, default: value }], ...others]) };
}

describe('validation', () => {
  it('accepts without Ajv only what Ajv accepts, and fills the same defaults', () => {
    let accepted = 0;
    let plain = 0;
    fc.assert(
      fc.property(schemas, fc.array(values, { minLength: 5, maxLength: 20 }), (schema, candidates) => {
        if (!isPlain(schema)) return;
        plain += 1;
        for (const candidate of candidates) {
          const ours = structuredClone(candidate);
          if (!satisfies(schema, ours)) continue;
          accepted += 1;
          const theirs = structuredClone(candidate);
          expect(ajv.validate(schema, theirs), JSON.stringify({ schema, candidate })).to.equal(true);
          expect(ours).to.deep.equal(theirs);
        }
      }),
      { numRuns: 500 },
    );
    expect(plain).to.be.above(300);
    expect(accepted).to.be.above(500);
  });

  it('leaves to Ajv what it cannot read', () => {
    for (const schema of [{ $ref: '#' }, { type: 'text' }, { pattern: '(' }, { const: {} }, { not: {} }, { items: 1 }])
      expect(isPlain(schema), JSON.stringify(schema)).to.equal(false);
    expect(isPlain({ anyOf: [{ properties: { a: { default: 1 } } }] })).to.equal(false);
    for (const schema of [PostDataSchema, ProductDataSchema]) expect(isPlain(schema)).to.equal(true);
  });

  it('gives the same answers before and after a schema is compiled', () => {
    const schema = Type.Object({ name: Type.String({ maxLength: 3 }), size: Type.Integer({ default: 2, minimum: 1 }) });
    const rounds = Array.from({ length: 300 }, () => createValidator(schema).check({ name: 'abc' }));
    const validator = createValidator(schema);
    for (const first of rounds) expect(validator.check({ name: 'abc' })).to.deep.equal(first);
    const given = { name: 'abc' };
    expect(validator.check(given)).to.deep.equal({ ok: true, value: { name: 'abc', size: 2 } });
    expect(given).to.deep.equal({ name: 'abc' });
    const refused = createValidator(schema).check({ name: 'abcd' });
    expect(refused).to.deep.equal(validator.check({ name: 'abcd' }));
    expect(refused).to.have.nested.property('issues[0].path', 'name');
  });
});
