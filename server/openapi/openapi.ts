import { Type } from 'mediagate';
import { defineRoute, type Route, type SentWebhook, type ServerContext } from '../http/index.js';
import { describeRoutes } from './document.js';

/** The API reference for programs. */
export function openApiRoutes({ routes, baseUrl }: ServerContext, webhooks: readonly SentWebhook[]): Route[] {
  let known: { for: string; text: string } | undefined;

  return [
    defineRoute({
      method: 'GET',
      path: '/openapi.json',
      grant: 'none',
      tag: 'Process',
      summary: 'This document',
      description: 'The API reference for programs: OpenAPI 3.1.',
      answers: { 200: { description: 'OpenAPI 3.1.', schema: Type.Object({ openapi: Type.String() }) } },
      handler(context) {
        const url = baseUrl();
        if (known?.for !== url) {
          known = { for: url, text: JSON.stringify(describeRoutes({ routes, webhooks, baseUrl: url })) };
        }
        context.res.setHeader('Content-Type', 'application/json; charset=utf-8');
        context.res.setHeader('Access-Control-Allow-Origin', '*');
        context.body = known.text;
      },
    }),
  ];
}
