/*
 * Declares and reads the body of a question about a link, and checks the schema that the answer shall have. Such a schema
 * comes from a client, so it is read without being compiled, and has no patterns, defaults or references: checking a
 * value takes time in proportion to it.
 */

import { field, optional, type Static, Type } from '../../core/contracts/index.js';
import { createValidator, GatewayError, isPlainSchema } from '../../core/runtime/index.js';
import { AnyObject, fieldError, knownFields } from '../http/index.js';
import { TRANSCRIPT_FIELDS, TRANSCRIPT_LANGUAGES } from '../transcripts/index.js';

export const MAX_QUESTION_LENGTH = 2_000;
const MAX_URL_LENGTH = 2_048;
const MAX_SCHEMA_LENGTH = 8_192;
const MAX_SCHEMA_DEPTH = 8;

const ACCEPTED = {
  url: `an http or https link of a supported platform, at most ${MAX_URL_LENGTH} characters`,
  question: `a text of 1 to ${MAX_QUESTION_LENGTH} characters`,
  schema:
    'a JSON Schema of an object, at most 8 KiB, with type, properties, required, items, enum, const, anyOf, description and limits of length, size and number',
  model: 'the id of a text model',
  transcript_languages: TRANSCRIPT_LANGUAGES,
};

/** Body of `POST /v1/extract/answers`. Other fields are ignored. */
export const QuestionBody = Type.Object({
  url: field(Type.String({ minLength: 1, maxLength: MAX_URL_LENGTH }), `The link: ${ACCEPTED.url}.`),
  question: field(
    Type.String({ pattern: '\\S', maxLength: MAX_QUESTION_LENGTH }),
    `The question: ${ACCEPTED.question}.`,
    'What is shown, and when?',
  ),
  schema: optional(AnyObject, `The form of the answer: ${ACCEPTED.schema}. Default: the answer is a text.`),
  model: optional(Type.String({ maxLength: 200 }), 'Id of a text model. Default: the first that the key may use.'),
  transcript_languages: TRANSCRIPT_FIELDS.transcript_languages,
});

export type Question = Static<typeof QuestionBody>;

const validator = createValidator(QuestionBody);

/** @throws GatewayError `missing_required_parameter`, `invalid_value` with `param`. */
export function checkQuestion(sent: Readonly<Record<string, unknown>>): Question {
  const checked = validator.check(knownFields(sent, QuestionBody));
  if (!checked.ok) throw fieldError(checked.issues[0], ACCEPTED);
  const { schema } = checked.value;
  if (schema !== undefined && !isAcceptable(schema)) throw fieldError({ path: 'schema' }, ACCEPTED);
  return checked.value;
}

const REFUSED = new Set(['pattern', 'patternProperties', 'default', '$ref']);

function isAcceptable(schema: Readonly<Record<string, unknown>>): boolean {
  if (JSON.stringify(schema).length > MAX_SCHEMA_LENGTH || schema.type !== 'object') return false;
  return isFree(schema, 0, false) && isPlainSchema(schema);
}

/** Free of refused keywords. Names of properties may be any. */
function isFree(value: unknown, depth: number, areNames: boolean): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (depth > 2 * MAX_SCHEMA_DEPTH) return false;
  return Object.entries(value).every(([name, inner]) => {
    if (!areNames && REFUSED.has(name)) return false;
    return isFree(inner, depth + 1, !areNames && name === 'properties');
  });
}

/** The error for a model that answers in no accepted form. */
export function unusable(model: string): GatewayError {
  return new GatewayError(
    'answer_unusable',
    `The model ${model} gave no answer in the form that was asked for, twice.`,
  );
}
