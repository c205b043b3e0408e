import { Type } from 'mediagate';
import { answerSchema } from './answer-schemas.js';
import { type Operation, type Operations, page } from './operation.js';

const health = (summary: string, access: Operation['access'] = 'none'): Operation => ({
  tag: 'Process',
  summary,
  access,
  answers: { 200: { description: 'As it is.', schema: answerSchema('Health') } },
});

const form = (summary: string, fields: Readonly<Record<string, string>>): Operation => ({
  tag: 'Pages',
  summary,
  access: 'session',
  body: {
    type: 'application/x-www-form-urlencoded',
    schema: Type.Object(
      Object.fromEntries(Object.entries(fields).map(([name, description]) => [name, Type.String({ description })])),
    ),
  },
  answers: { 200: { description: 'A page that says so.', type: 'text/html' }, 303: { description: 'Done.' } },
});

const leads = (summary: string): Operation => ({
  tag: 'Pages',
  summary,
  access: 'none',
  answers: { 303: { description: 'To the next step.' } },
  errors: ['sign_in_failed', 'sign_in_unavailable'],
});

const file = (summary: string): Operation => ({
  tag: 'Pages',
  summary,
  access: 'none',
  answers: { 200: { description: 'The file.', type: '*/*' } },
  errors: ['file_not_found'],
});

export const SITE: Operations = {
  'GET /health': health('How the process and each platform are'),
  'GET /health/live': health('The process answers'),
  'GET /health/ready': {
    ...health('Whether requests may be sent here'),
    answers: {
      200: { description: 'They may.', schema: answerSchema('Health') },
      503: { description: 'They may not: it ends, or the database is away.', schema: answerSchema('Health') },
    },
  },
  'GET /metrics': {
    tag: 'Process',
    summary: 'Figures for Prometheus',
    access: 'none',
    answers: { 200: { description: 'In its text format.', type: 'text/plain' } },
  },
  'GET /openapi.json': {
    tag: 'Process',
    summary: 'This document',
    access: 'none',
    answers: { 200: { description: 'OpenAPI 3.1.', schema: Type.Object({ openapi: Type.String() }) } },
  },
  'GET /': page('First page'),
  'GET /login': page('Who signs people in'),
  'GET /plans': page('The plans'),
  'GET /setup': page('A setup for each kind of client'),
  'GET /docs': page('This reference'),
  'GET /docs/:version/:name': file('A file of the viewer of this reference'),
  'GET /dashboard': page('Keys, plan, usage, jobs', 'session'),
  'GET /playground': page('Links, images and models, tried out', 'session'),
  'GET /pay/:code': page('An order, and how it is paid', 'session'),
  'GET /device': page('Which program asks to be let in', 'session'),
  'GET /assets/:version/:name': file('A file of the pages'),
  'GET /signin': leads('Leads to the identity provider'),
  'GET /signin/callback': leads('Where the identity provider sends people back to'),
  'POST /signout': form('Ends the session', {}),
  'POST /signout/everywhere': form('Ends all sessions of the user', {}),
  'POST /device': form('Lets a program in or refuses it', {
    user_code: 'The code that the program shows.',
    answer: '`approve` or `deny`.',
  }),
};
