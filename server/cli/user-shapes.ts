/*
 * What `--json` prints about invitations and roles.
 */

import { field, Type } from '../../core/contracts/index.js';
import { Nullable, OneOf, Text } from '../http/index.js';

const MaybeText = Nullable(Text);
const Flag = Type.Boolean();
const Role = OneOf('operator', 'billing', 'member');
const created = { created_at: field(Text, 'When it was created (RFC 3339).') };

const InvitationFields = {
  id: field(Text, 'Id of the invitation.'),
  role: field(Role, 'Role of the user.'),
  name: field(MaybeText, 'Suggested name. Null without one.'),
  user: field(MaybeText, 'Id of the user whose passkeys it replaces. Null: it makes a new user.'),
  ...created,
  expires_at: field(Text, 'When it expires (RFC 3339).'),
};
export const Invitation = Type.Object({
  ...InvitationFields,
  link: field(Text, 'The link, which works once. It is printed only here.'),
});
export const Invitations = Type.Array(Type.Object(InvitationFields));
export const WithdrawnInvitation = Type.Object({
  id: field(Text, 'Id of the invitation.'),
  withdrawn: field(Flag, 'Always true.'),
});
export const ChangedRole = Type.Object({
  id: field(Text, 'Id of the user.'),
  role: field(Role, 'The role that the user has.'),
  changed: field(Flag, 'Whether the command changed it; otherwise it was so before.'),
});
