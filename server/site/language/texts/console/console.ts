/*
 * Texts of the console for operators: the frame of its pages, the first page, the history, and what a form has just
 * done. Those of users, money and work are in files beside this one.
 */

import { counted, FORMATS } from '../../formats.js';
import { consoleActions } from './actions.js';
import { consoleMoney } from './money.js';
import { consolePeople } from './people.js';
import { consoleTeam } from './team.js';
import { consoleWork } from './work.js';

const { count } = FORMATS.vi;
const HOUR_MS = 3_600_000;

const en = {
  title: 'Console',
  pages: {
    overview: 'Overview',
    users: 'Users',
    invitations: 'Invitations',
    orders: 'Orders',
    transfers: 'Bank money',
    balances: 'Balances',
    keys: 'Keys',
    groups: 'Groups',
    models: 'Models',
    requests: 'Requests',
    jobs: 'Jobs',
    alerts: 'Alerts',
    incidents: 'Incidents',
    audit: 'Audit log',
  },
  reason: 'Reason',
  reasonHint: 'For the audit log. May be empty.',
  failed: 'This was not done.',
  /** Of milliseconds, in its largest unit. */
  span: (ms: number) =>
    ms < 60_000
      ? `${Math.floor(ms / 1_000)} s`
      : ms < HOUR_MS
        ? `${Math.floor(ms / 60_000)} min`
        : ms < 48 * HOUR_MS
          ? `${Math.floor(ms / HOUR_MS)} h`
          : `${Math.floor(ms / (24 * HOUR_MS))} d`,
  done: {
    suspend: 'The user is suspended.',
    resume: 'The suspension has ended. The user must sign in again.',
    sign_out: 'All sessions of the user have ended.',
    plan: 'The account has the plan.',
    plan_end: 'All plans of the account have ended.',
    budgets: 'The account has these budgets.',
    order_confirm: 'The order is paid, and the account has its plan.',
    order_cancel: 'The order is cancelled.',
    order_refund: 'The refund is recorded.',
    matched: 'The transfer counts for this order.',
    settled: 'The transfer is reviewed.',
    nothing: 'There was nothing to do.',
    key_changed: 'The key is changed.',
    key_revoked: 'The key is revoked.',
    job_cancel: 'The job is cancelled.',
    job_retry: 'The work is done again by this job.',
    kind_pause: 'Jobs of this kind wait until you resume them.',
    kind_resume: 'Jobs of this kind run again.',
    balance_allow: 'The account may top up.',
    balance_refuse: 'The account may not top up any more.',
    balance_adjust: 'The balance is adjusted.',
    balance_resume: 'The balance pays again.',
    group_made: 'The group is created.',
    group_changed: 'The group has these budgets.',
    group_shown: 'Members of the group see its keys, without secrets.',
    group_hidden: 'Members of the group see their own keys alone.',
    group_deleted: 'The group is deleted.',
    invitation_withdrawn: 'The link no longer works.',
    alert: 'The alert is acknowledged, and is not repeated.',
    incident: 'The incident is on the status page.',
    incident_closed: 'The incident has ended.',
  },
  overview: {
    title: 'Overview',
    asOf: 'As of',
    well: 'All is well.',
    wellWords: 'The gateway, its database and every model answer.',
    waits: (things: number, hasMore: boolean) =>
      `Running, ${hasMore ? 'more than ' : ''}${counted(things, 'thing waits', 'things wait')} for you.`,
    notWell: (problems: number) => `${counted(problems, 'thing does', 'things do')} not work`,
    seeModels: 'See the models and their servers',
    waiting: 'Waits for you',
    alerts: (alerts: number) => counted(alerts, 'alert'),
    nothingWaits: 'Nothing. Alerts, orders and bank money that need a review, and open incidents, are listed here.',
    transfer: 'Bank transfer',
    incident: 'Open incident',
    planned: 'Planned incident',
    today: 'Today (UTC)',
    requestsOfDays: 'Requests, last 7 days',
    costOfDays: (currency: string) => `Cost (${currency}), last 7 days`,
    accounts: 'Who uses it, last 7 days',
    models: 'Models, last 7 days',
    name: 'Name',
    noUsage: 'No usage yet',
    noUsageWords: 'Requests appear here a few seconds after they are answered.',
    failures: 'Latest failures, last 24 hours',
    noFailures: 'No failures',
    noFailuresWords: 'No request failed in the last 24 hours.',
    allFailures: 'All failed requests',
  },
  history: {
    title: 'History',
    none: 'No history',
    noneWords: 'Changes are listed here with who made them.',
    time: 'Time (UTC)',
    action: 'Action',
    subject: 'Subject',
    actor: 'By',
    note: 'Reason',
    actions: consoleActions.en,
  },
  ...consolePeople.en,
  ...consoleMoney.en,
  ...consoleTeam.en,
  ...consoleWork.en,
};

const vi: typeof en = {
  title: 'Quản trị',
  pages: {
    overview: 'Tổng quan',
    users: 'Người dùng',
    invitations: 'Lời mời',
    orders: 'Đơn hàng',
    transfers: 'Tiền chuyển khoản',
    balances: 'Số dư',
    keys: 'Khóa',
    groups: 'Nhóm',
    models: 'Mô hình',
    requests: 'Yêu cầu',
    jobs: 'Tác vụ',
    alerts: 'Cảnh báo',
    incidents: 'Sự cố',
    audit: 'Nhật ký',
  },
  reason: 'Lý do',
  reasonHint: 'Ghi vào nhật ký. Có thể để trống.',
  failed: 'Chưa thực hiện được.',
  span: (ms) =>
    ms < 60_000
      ? `${Math.floor(ms / 1_000)} giây`
      : ms < HOUR_MS
        ? `${Math.floor(ms / 60_000)} phút`
        : ms < 48 * HOUR_MS
          ? `${Math.floor(ms / HOUR_MS)} giờ`
          : `${Math.floor(ms / (24 * HOUR_MS))} ngày`,
  done: {
    suspend: 'Đã tạm khóa người dùng.',
    resume: 'Đã mở khóa. Người dùng cần đăng nhập lại.',
    sign_out: 'Đã kết thúc mọi phiên của người dùng.',
    plan: 'Tài khoản đã có gói.',
    plan_end: 'Đã kết thúc mọi gói của tài khoản.',
    budgets: 'Đã đặt ngân sách của tài khoản.',
    order_confirm: 'Đơn hàng đã thanh toán và tài khoản đã có gói.',
    order_cancel: 'Đã hủy đơn hàng.',
    order_refund: 'Đã ghi nhận hoàn tiền.',
    matched: 'Khoản chuyển đã được tính cho đơn hàng này.',
    settled: 'Đã kiểm tra khoản chuyển.',
    nothing: 'Không có gì để làm.',
    key_changed: 'Đã thay đổi khóa.',
    key_revoked: 'Đã thu hồi khóa.',
    job_cancel: 'Đã hủy tác vụ.',
    job_retry: 'Tác vụ này làm lại công việc đó.',
    kind_pause: 'Tác vụ loại này sẽ đợi đến khi bạn cho chạy tiếp.',
    kind_resume: 'Tác vụ loại này chạy trở lại.',
    balance_allow: 'Tài khoản được nạp tiền.',
    balance_refuse: 'Tài khoản không được nạp tiền nữa.',
    balance_adjust: 'Đã điều chỉnh số dư.',
    balance_resume: 'Số dư lại được dùng.',
    group_made: 'Đã tạo nhóm.',
    group_changed: 'Đã đặt ngân sách của nhóm.',
    group_shown: 'Thành viên xem được các khóa của nhóm, trừ mã bí mật.',
    group_hidden: 'Thành viên chỉ xem được khóa của mình.',
    group_deleted: 'Đã xóa nhóm.',
    invitation_withdrawn: 'Liên kết không còn hiệu lực.',
    alert: 'Đã xác nhận cảnh báo, sẽ không nhắc lại.',
    incident: 'Sự cố đã hiện trên trang tình trạng.',
    incident_closed: 'Sự cố đã kết thúc.',
  },
  overview: {
    title: 'Tổng quan',
    asOf: 'Lúc',
    well: 'Mọi thứ hoạt động tốt.',
    wellWords: 'Dịch vụ, cơ sở dữ liệu và mọi mô hình đều trả lời.',
    waits: (things, hasMore) => `Đang chạy, ${hasMore ? 'hơn ' : ''}${count(things)} việc đang chờ bạn.`,
    notWell: (problems) => `${count(problems)} thành phần không hoạt động`,
    seeModels: 'Xem các mô hình và máy chủ của chúng',
    waiting: 'Đang chờ bạn',
    alerts: (alerts) => `${count(alerts)} cảnh báo`,
    nothingWaits: 'Không có gì. Cảnh báo, đơn hàng và tiền cần kiểm tra, cùng sự cố đang mở, sẽ hiện ở đây.',
    transfer: 'Khoản chuyển',
    incident: 'Sự cố đang mở',
    planned: 'Sự cố sắp tới',
    today: 'Hôm nay (UTC)',
    requestsOfDays: 'Yêu cầu, 7 ngày qua',
    costOfDays: (currency) => `Chi phí (${currency}), 7 ngày qua`,
    accounts: 'Ai dùng, 7 ngày qua',
    models: 'Mô hình, 7 ngày qua',
    name: 'Tên',
    noUsage: 'Chưa có dữ liệu',
    noUsageWords: 'Yêu cầu xuất hiện ở đây vài giây sau khi được trả lời.',
    failures: 'Lỗi mới nhất, 24 giờ qua',
    noFailures: 'Không có lỗi',
    noFailuresWords: 'Không có yêu cầu nào thất bại trong 24 giờ qua.',
    allFailures: 'Mọi yêu cầu thất bại',
  },
  history: {
    title: 'Lịch sử',
    none: 'Chưa có lịch sử',
    noneWords: 'Mỗi thay đổi sẽ hiện ở đây cùng người thực hiện.',
    time: 'Thời gian (UTC)',
    action: 'Thao tác',
    subject: 'Đối tượng',
    actor: 'Người thực hiện',
    note: 'Lý do',
    actions: consoleActions.vi,
  },
  ...consolePeople.vi,
  ...consoleMoney.vi,
  ...consoleTeam.vi,
  ...consoleWork.vi,
};

export const consoleTexts = { en, vi };
