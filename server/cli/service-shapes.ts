/*
 * What `--json` prints about the service: incidents of the status page, and items that are taken down.
 */

import { field, Type } from '../../core/contracts/index.js';
import { Nullable, Text } from '../http/index.js';

const MaybeText = Nullable(Text);

export const Incident = Type.Object({
  id: field(Text, 'Id of the incident.', 'inc_1f0c93ab'),
  kind: field(Text, '`outage`, `degraded` or `maintenance`.', 'degraded'),
  title: field(Text, 'What is wrong.'),
  message: field(MaybeText, 'What users notice. Null without one.'),
  outcome: field(MaybeText, 'How it ended. Null without one.'),
  started_at: field(Text, 'When it began or will begin (RFC 3339).'),
  ended_at: field(MaybeText, 'When it ended (RFC 3339). Null while it is open.'),
});
export const Incidents = Type.Array(Incident);

export const BlockedLinks = Type.Array(
  Type.Object({
    url: field(Text, 'Canonical URL of the item.'),
    blocked_at: field(Text, 'When it was blocked (RFC 3339).'),
    note: field(MaybeText, 'The given reason. Null without one.'),
  }),
);
