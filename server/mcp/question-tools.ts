/*
 * The tool `ask_link`: a question about a link, which its route answers.
 */

import type { TSchema } from '../../core/contracts/index.js';
import { ANSWERS_PATH } from '../questions/index.js';
import { closed } from './link-tools.js';
import { outsideResult, outsideSchema } from './results.js';
import { answerSchema, bodyFields, outline, routeOf, type Tool, type ToolSources } from './tool.js';

const SHOWN = [
  'platform',
  'input_url',
  'model',
  'answer',
  'data',
  'claims',
  'transcript_source',
  'limitations',
] as const;

export function questionTools({ routes }: ToolSources): Tool[] {
  const route = routeOf(routes, 'POST', ANSWERS_PATH);
  const { properties } = outline(answerSchema(route), 3) as TSchema & { properties: Record<string, TSchema> };
  const shown = SHOWN.flatMap((name) => (properties[name] ? [[name, properties[name]] as const] : []));
  return [
    {
      name: 'ask_link',
      title: 'Ask a question about a link',
      description:
        'Answers a question about a public video, post or product from its data and from what is said in it, with the time or the field of each statement. Smaller than the whole data. Costs a link and tokens of a text model.',
      grant: ['extract'],
      alsoNeeds: 'text',
      input: closed(bodyFields(route)),
      output: outsideSchema(Object.fromEntries(shown)),
      hints: { readOnlyHint: true, idempotentHint: true, openWorldHint: true },
      async run({ input, callRoute, signal }) {
        const { json } = await callRoute({ method: 'POST', path: ANSWERS_PATH, body: input }, signal);
        const fields = Object.fromEntries(SHOWN.map((name) => [name, json[name]]));
        return outsideResult('The answer to a question about a public link.', fields);
      },
    },
  ];
}
