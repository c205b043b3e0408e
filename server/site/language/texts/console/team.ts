/*
 * Texts of groups of keys and of invitations in the console. A form says what follows from it, and whether it is final.
 * Those of a group also say who sees its keys, and that secrets are never shown.
 */

import { counted, FORMATS } from '../../formats.js';

const { count } = FORMATS.vi;

const en = {
  groups: {
    show: 'Show keys…',
    showWords:
      'Users with a key in this group see the names, last use and budgets of all its keys. They never see secrets.',
    showNow: 'Show the keys',
    hide: 'Hide keys…',
    hideWords: 'Users with a key in this group see their own keys alone.',
    hideNow: 'Hide the keys',
    lead: 'Groups of keys, such as teams. All keys of a group share its budgets.',
    name: 'Name',
    nameHint: 'Small letters, digits, "_", "." and "-".',
    create: 'New group…',
    createWords: 'Makes a group without keys. Give a key its group on the page of the key.',
    createNow: 'Create the group',
    keys: (keys: number) => counted(keys, 'key'),
    unlimited: 'No budget',
    change: 'Budgets…',
    changeWords:
      'Replaces all budgets of the group. One with the same unit and period keeps its usage. Running servers follow within two seconds.',
    changeNow: 'Set the budgets',
    delete: 'Delete…',
    deleteWords: 'Deletes the group and its budgets. This is final.',
    deleteKeysWords: (keys: number) =>
      `Deletes the group and its budgets. Its ${counted(keys, 'key')} leave the group and keep working without them. This is final.`,
    deleteNow: 'Delete the group',
    none: 'No groups',
    noneWords: 'Make one for each team that shares a budget.',
    more: (more: number) => `${counted(more, 'more group')}. Search for them.`,
  },
  invitations: {
    lead: 'Links by which people get an account and register a passkey, without an identity provider.',
    open: 'Open invitations',
    none: 'No open invitations',
    noneWords: 'Invite a person and send them the link. It works once.',
    off: 'Invitations do not work here.',
    name: 'Name',
    nameHint: 'Suggested to the person. May be empty.',
    unnamed: 'Without a name',
    role: 'Role',
    roles: { member: 'Member', billing: 'Billing: orders and money', operator: 'Operator: everything' },
    valid: 'Valid for',
    hours: 'Hours',
    hoursHint: (usual: number, most: number) => `Empty: ${usual}. At most ${most}.`,
    replaces: 'Replaces passkeys of',
    userHint: 'Id or address of a user who lost all passkeys. Empty: a new user.',
    plan: 'Plan',
    noPlan: 'Free tier',
    planHint: 'Of the new account. Operators and users who lost their passkeys have theirs.',
    by: 'Invited by',
    expires: 'Expires',
    invite: 'Invite…',
    inviteWords:
      'Makes a link that works once, for any person who has it. It is shown once, on the next page. An operator may do everything on these pages.',
    inviteNow: 'Make the invitation',
    made: 'The new invitation',
    madeWords: 'Send this link to the person by a private way. It is shown only this once.',
    withdrawHead: 'Withdraw',
    withdraw: 'Withdraw…',
    withdrawWords: 'The link no longer works. Make another invitation if the person still needs one.',
    withdrawNow: 'Withdraw the invitation',
  },
};

const vi: typeof en = {
  groups: {
    show: 'Cho xem khóa…',
    showWords:
      'Người có khóa trong nhóm xem được tên, lần dùng gần nhất và ngân sách của mọi khóa trong nhóm. Không bao giờ thấy mã bí mật.',
    showNow: 'Cho xem',
    hide: 'Ẩn khóa…',
    hideWords: 'Người có khóa trong nhóm chỉ xem được khóa của mình.',
    hideNow: 'Ẩn',
    lead: 'Nhóm khóa, ví dụ theo đội. Mọi khóa của nhóm dùng chung ngân sách.',
    name: 'Tên',
    nameHint: 'Chữ thường, chữ số, "_", "." và "-".',
    create: 'Nhóm mới…',
    createWords: 'Tạo nhóm chưa có khóa. Đặt nhóm cho khóa ở trang của khóa.',
    createNow: 'Tạo nhóm',
    keys: (keys) => `${count(keys)} khóa`,
    unlimited: 'Không có ngân sách',
    change: 'Ngân sách…',
    changeWords:
      'Thay mọi ngân sách của nhóm. Ngân sách cùng đơn vị và kỳ giữ mức đã dùng. Máy chủ cập nhật trong hai giây.',
    changeNow: 'Đặt ngân sách',
    delete: 'Xóa…',
    deleteWords: 'Xóa nhóm cùng ngân sách. Không thể hoàn tác.',
    deleteKeysWords: (keys) =>
      `Xóa nhóm cùng ngân sách. ${count(keys)} khóa rời nhóm và vẫn hoạt động. Không thể hoàn tác.`,
    deleteNow: 'Xóa nhóm',
    none: 'Không có nhóm',
    noneWords: 'Tạo một nhóm cho mỗi đội dùng chung ngân sách.',
    more: (more) => `Còn ${count(more)} nhóm. Hãy tìm theo tên.`,
  },
  invitations: {
    lead: 'Liên kết để người khác có tài khoản và đăng ký passkey, không cần nhà cung cấp định danh.',
    open: 'Lời mời đang mở',
    none: 'Không có lời mời đang mở',
    noneWords: 'Mời một người và gửi liên kết. Liên kết dùng được một lần.',
    off: 'Lời mời không hoạt động ở đây.',
    name: 'Tên',
    nameHint: 'Gợi ý cho người được mời. Có thể để trống.',
    unnamed: 'Không có tên',
    role: 'Vai trò',
    roles: { member: 'Thành viên', billing: 'Thanh toán: đơn hàng và tiền', operator: 'Quản trị: mọi quyền' },
    valid: 'Hiệu lực',
    hours: 'Số giờ',
    hoursHint: (usual, most) => `Để trống: ${usual}. Nhiều nhất ${most}.`,
    replaces: 'Thay passkey của',
    userHint: 'Mã hoặc địa chỉ của người đã mất mọi passkey. Để trống: người dùng mới.',
    plan: 'Gói',
    noPlan: 'Gói miễn phí',
    planHint: 'Của tài khoản mới. Người quản trị và người mất passkey đã có gói của mình.',
    by: 'Người mời',
    expires: 'Hết hạn',
    invite: 'Mời…',
    inviteWords:
      'Tạo liên kết dùng một lần cho người giữ nó. Liên kết hiện một lần ở trang sau. Người quản trị làm được mọi việc trên các trang này.',
    inviteNow: 'Tạo lời mời',
    made: 'Lời mời mới',
    madeWords: 'Gửi liên kết này cho người được mời bằng đường riêng. Liên kết chỉ hiện lần này.',
    withdrawHead: 'Thu hồi',
    withdraw: 'Thu hồi…',
    withdrawWords: 'Liên kết không còn hiệu lực. Tạo lời mời khác nếu người đó còn cần.',
    withdrawNow: 'Thu hồi lời mời',
  },
};

export const consoleTeam = { en, vi };
