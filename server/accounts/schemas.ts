import { type TSchema, Type } from 'mediagate';
import { Nullable, type RouteAnswer, Text } from '../http/index.js';

/* Answers of account and payment routes, as the API reference describes them. */

export const KeySchema = Type.Object({
  id: Text,
  name: Text,
  maskedKey: Text,
  state: Text,
  planId: Nullable(Text),
  grants: Type.Array(Text),
  rpm: Nullable(Type.Integer()),
  createdAt: Text,
  expiresAt: Nullable(Text),
});

export const SessionSchema = Type.Object({
  authenticated: Type.Boolean(),
  loginUrl: Type.Optional(Text),
  instruction: Type.Optional(Text),
  user: Type.Optional(Type.Object({ id: Text, email: Nullable(Text), name: Nullable(Text) })),
});

/** The answers of a route that has this one alone. */
export function asItStands(schema: TSchema): Record<number, RouteAnswer> {
  return { 200: { description: 'As it stands.', schema } };
}
