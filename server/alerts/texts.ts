/*
 * What alerts say to people, in the languages of the site: a title of one line, and what to do. The console shows them,
 * messages by e-mail consist of them, and webhooks have the English ones beside the fields for programs.
 */

import type { Alert, AlertDetail, AlertEvent, AlertKind } from './tables.js';

export type AlertLanguage = 'en' | 'vi';

interface AlertWords {
  kinds: Readonly<Record<AlertKind, string>>;
  /** Prefix of the subject of a message. */
  events: Readonly<Record<AlertEvent, string>>;
  title(kind: AlertKind, subject: string, detail: AlertDetail): string;
  advice: Readonly<Record<AlertKind, string>>;
  since: string;
  times(times: number): string;
  see: string;
  /** Why the message came, at its end. */
  footer: string;
}

/** A detail as text. An alert of an older release may lack it. */
function textOf(detail: AlertDetail, name: string): string {
  const value = detail[name];
  return value === undefined ? '?' : String(value);
}

function moneyOr(detail: AlertDetail, name: 'limit' | 'used', numbers: string, words: Record<string, string>): string {
  const value = detail[name];
  const amount = typeof value === 'number' ? value.toLocaleString(numbers, { maximumFractionDigits: 2 }) : '?';
  const unit = String(detail.unit ?? '');
  return `${amount} ${unit === 'money' ? textOf(detail, 'currency') : (words[unit] ?? unit)}`;
}

function gigabytes(detail: AlertDetail, numbers: string): string {
  const bytes = detail.free_bytes;
  if (typeof bytes !== 'number') return '?';
  return `${(bytes / 1e9).toLocaleString(numbers, { maximumFractionDigits: 1 })} GB`;
}

const en: AlertWords = {
  kinds: {
    budget_low: 'Budget nearly used',
    budget_used: 'Budget used',
    upstream_down: 'Provider down',
    error_rate: 'Many errors',
    bank_money: 'Bank money',
    disk_low: 'Disk nearly full',
    certificate: 'Certificate',
    probe_failed: 'Live probe failed',
  },
  events: { opened: 'Alert', repeated: 'Still open', closed: 'Over' },
  title(kind, subject, detail) {
    const text = (name: string) => textOf(detail, name);
    const owner = `${text('of')} ${text('name')}`;
    const amount = (name: 'limit' | 'used') =>
      moneyOr(detail, name, 'en-US', { tokens: 'tokens', requests: 'requests' });
    const period = { day: 'today', month: 'this month', never: 'in all' }[text('resets')] ?? '';
    switch (kind) {
      case 'budget_low':
        return `The ${owner} has used ${amount('used')} of ${amount('limit')} ${period}`;
      case 'budget_used':
        return `The ${owner} has used its whole budget of ${amount('limit')} ${period}`;
      case 'upstream_down':
        return `The provider ${subject} does not work: ${text('reason')}`;
      case 'error_rate':
        return `${text('percent')} % of the latest ${text('requests')} requests failed, most with ${text('code')}`;
      case 'bank_money':
        return detail.transfers === 1
          ? 'A bank transfer waits for a review'
          : `${text('transfers')} bank transfers wait for a review`;
      case 'disk_low':
        return `The disk of ${subject} has ${gigabytes(detail, 'en-US')} free (${text('percent')} %)`;
      case 'certificate':
        return Number(detail.days) < 0
          ? `The certificate of ${subject} has expired`
          : `The certificate of ${subject} ends in ${text('days')} days`;
      case 'probe_failed':
        return `The live probe of ${subject} failed: ${text('failed')} of its checks`;
    }
  },
  advice: {
    budget_low: 'Requests beyond the budget are refused. Raise it, or tell its users.',
    budget_used: 'Further requests are refused until the next period. Raise the budget to go on.',
    upstream_down: 'Look at the page of models: it names the servers and the reason.',
    error_rate: 'Look at the failed requests: their codes say whether the gateway or a provider fails.',
    bank_money: 'Match the transfer to its order, or mark it as reviewed.',
    disk_low: 'Make room, or enlarge the disk. Without room, nothing can be stored.',
    certificate: 'Renew it. Clients refuse an expired certificate.',
    probe_failed: 'Run the probe again; "mediagate probe" shows which method fails.',
  },
  since: 'Since',
  times: (times) => `It has opened ${times} times.`,
  see: 'Console',
  footer: 'Acknowledge the alert in the console to end the daily repetition.',
};

const vi: AlertWords = {
  kinds: {
    budget_low: 'Ngân sách sắp hết',
    budget_used: 'Ngân sách đã hết',
    upstream_down: 'Nhà cung cấp ngừng',
    error_rate: 'Nhiều lỗi',
    bank_money: 'Tiền chuyển khoản',
    disk_low: 'Ổ đĩa sắp đầy',
    certificate: 'Chứng chỉ',
    probe_failed: 'Kiểm tra trực tiếp lỗi',
  },
  events: { opened: 'Cảnh báo', repeated: 'Vẫn còn', closed: 'Đã hết' },
  title(kind, subject, detail) {
    const text = (name: string) => textOf(detail, name);
    const of = { key: 'Khóa', account: 'Tài khoản', group: 'Nhóm' }[text('of')] ?? text('of');
    const owner = `${of} ${text('name')}`;
    const amount = (name: 'limit' | 'used') => moneyOr(detail, name, 'vi-VN', { tokens: 'token', requests: 'yêu cầu' });
    const period = { day: 'hôm nay', month: 'tháng này', never: 'tổng cộng' }[text('resets')] ?? '';
    switch (kind) {
      case 'budget_low':
        return `${owner} đã dùng ${amount('used')} trên ${amount('limit')} ${period}`;
      case 'budget_used':
        return `${owner} đã dùng hết ngân sách ${amount('limit')} ${period}`;
      case 'upstream_down':
        return `Nhà cung cấp ${subject} không hoạt động: ${text('reason')}`;
      case 'error_rate':
        return `${text('percent')} % của ${text('requests')} yêu cầu gần nhất thất bại, phần lớn với mã ${text('code')}`;
      case 'bank_money':
        return `${text('transfers')} khoản chuyển đang chờ kiểm tra`;
      case 'disk_low':
        return `Ổ đĩa của ${subject} còn trống ${gigabytes(detail, 'vi-VN')} (${text('percent')} %)`;
      case 'certificate':
        return Number(detail.days) < 0
          ? `Chứng chỉ của ${subject} đã hết hạn`
          : `Chứng chỉ của ${subject} hết hạn sau ${text('days')} ngày`;
      case 'probe_failed':
        return `Kiểm tra trực tiếp ${subject} thất bại: ${text('failed')} phép kiểm tra`;
    }
  },
  advice: {
    budget_low: 'Yêu cầu vượt ngân sách sẽ bị từ chối. Hãy tăng ngân sách, hoặc báo cho người dùng.',
    budget_used: 'Yêu cầu tiếp theo bị từ chối đến kỳ sau. Hãy tăng ngân sách để tiếp tục.',
    upstream_down: 'Xem trang mô hình: trang này nêu máy chủ và lý do.',
    error_rate: 'Xem các yêu cầu thất bại: mã lỗi cho biết dịch vụ hay nhà cung cấp bị lỗi.',
    bank_money: 'Ghép khoản chuyển với đơn hàng, hoặc đánh dấu đã kiểm tra.',
    disk_low: 'Hãy dọn dung lượng, hoặc mở rộng ổ đĩa. Hết chỗ thì không lưu được gì.',
    certificate: 'Hãy gia hạn. Ứng dụng từ chối chứng chỉ đã hết hạn.',
    probe_failed: 'Chạy lại kiểm tra; "mediagate probe" cho biết phương thức nào lỗi.',
  },
  since: 'Từ',
  times: (times) => `Đã mở ${times} lần.`,
  see: 'Trang quản trị',
  footer: 'Xác nhận cảnh báo trong trang quản trị để ngừng nhắc lại hằng ngày.',
};

export const ALERT_WORDS: Readonly<Record<AlertLanguage, AlertWords>> = { en, vi };

/** One line: what is wrong. */
export function titleOf(
  { kind, subject, detail }: Pick<Alert, 'kind' | 'subject' | 'detail'>,
  language: AlertLanguage,
) {
  return ALERT_WORDS[language].title(kind, subject, detail);
}
