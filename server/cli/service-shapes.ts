/*
 * What `--json` prints about the service: incidents of the status page, and items that are taken down.
 */

import { field, Type } from '../../core/contracts/index.js';
import { IncidentShape } from '../admin/index.js';
import { Nullable, Text } from '../http/index.js';

const MaybeText = Nullable(Text);

export const Incident = IncidentShape;
export const Incidents = Type.Array(Incident);

export const BlockedLinks = Type.Array(
  Type.Object({
    url: field(Text, 'Canonical URL of the item.'),
    blocked_at: field(Text, 'When it was blocked (RFC 3339).'),
    note: field(MaybeText, 'The given reason. Null without one.'),
  }),
);
