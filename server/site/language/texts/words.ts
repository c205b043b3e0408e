/*
 * Texts that several pages share: counts with their nouns, groups of routes, states of jobs, orders, keys and requests,
 * the links between the pages of an account, filters with their days, and buttons that choose files. Counts in them are
 * already formatted, except where a plural depends on the count.
 */

import { counted, FORMATS } from '../formats.js';

const { count } = FORMATS.vi;

/** `Last day (UTC)` becomes `Last day (UTC, year-month-day)`. */
function inBrackets(name: string, words: string): string {
  return name.endsWith(')') ? `${name.slice(0, -1)}, ${words})` : `${name} (${words})`;
}

const en = {
  days: (value: number) => counted(value, 'day'),
  seconds: (value: number) => counted(value, 'second'),
  requests: (value: number) => counted(value, 'request'),
  modelRequests: (value: number) => counted(value, 'model request'),
  tokens: (value: number) => counted(value, 'token'),
  images: (value: number) => counted(value, 'image'),
  aDay: (amount: string) => `${amount} a day`,
  aMinute: (amount: string) => `${amount} a minute`,
  yourAccount: 'your account',
  /** Names of plans that the operator has not named. */
  freePlan: 'Free',
  operatorPlan: 'Operator',
  grants: { extract: 'link data', images: 'images', text: 'text models', audio: 'audio models' },
  families: { link_data: 'Link data', image: 'Images', model: 'Text and sound' } as Readonly<Record<string, string>>,
  jobs: { batch: 'Batch of links', extraction: 'Link', image: 'Image', transcript: 'Transcript' },
  jobStates: {
    queued: 'Queued',
    running: 'Running',
    completed: 'Completed',
    failed: 'Failed',
    cancelled: 'Cancelled',
  },
  orderStates: {
    pending: 'Awaiting payment',
    underpaid: 'Partly paid',
    paid: 'Paid',
    expired: 'Expired',
    cancelled: 'Cancelled',
    refunded: 'Refunded',
    needs_review: 'Under review',
  },
  keyStates: { rotated: 'Rotated', suspended: 'Suspended', expired: 'Expired', revoked: 'Revoked' },
  outcomes: { succeeded: 'Succeeded', failed: 'Failed', refused: 'Refused' },
  cancelled: 'Cancelled',
  pages: 'Pages',
  newest: 'Newest',
  older: 'Older',
  account: 'Account',
  overview: 'Overview',
  keysPage: 'Keys',
  usage: 'Usage',
  requestsPage: 'Requests',
  imagesPage: 'Images',
  orders: 'Orders',
  filters: 'Filters',
  show: 'Show',
  chooseFile: 'Choose a file',
  chooseFiles: 'Choose files',
  reset: 'Reset',
  spans: {
    days: 'Days',
    today: 'Today',
    month: 'This month',
    year: '1 year',
    from: 'From',
    to: 'To',
    /** The name of a field may end in brackets. */
    inForm: (day: string) => inBrackets(day, 'year-month-day'),
    format: (day: string) => `A day by UTC, such as ${day}`,
  },
};

const vi: typeof en = {
  days: (value) => `${count(value)} ngày`,
  seconds: (value) => `${count(value)} giây`,
  requests: (value) => `${count(value)} yêu cầu`,
  modelRequests: (value) => `${count(value)} yêu cầu mô hình`,
  tokens: (value) => `${count(value)} token`,
  images: (value) => `${count(value)} ảnh`,
  aDay: (amount) => `${amount} mỗi ngày`,
  aMinute: (amount) => `${amount} mỗi phút`,
  yourAccount: 'tài khoản của bạn',
  freePlan: 'Miễn phí',
  operatorPlan: 'Người vận hành',
  grants: { extract: 'dữ liệu liên kết', images: 'ảnh', text: 'mô hình văn bản', audio: 'mô hình âm thanh' },
  families: { link_data: 'Dữ liệu liên kết', image: 'Ảnh', model: 'Văn bản và âm thanh' },
  jobs: { batch: 'Lô liên kết', extraction: 'Liên kết', image: 'Ảnh', transcript: 'Bản chép lời' },
  jobStates: {
    queued: 'Đang chờ',
    running: 'Đang chạy',
    completed: 'Hoàn tất',
    failed: 'Thất bại',
    cancelled: 'Đã hủy',
  },
  orderStates: {
    pending: 'Chờ thanh toán',
    underpaid: 'Trả một phần',
    paid: 'Đã thanh toán',
    expired: 'Hết hạn',
    cancelled: 'Đã hủy',
    refunded: 'Đã hoàn tiền',
    needs_review: 'Đang kiểm tra',
  },
  keyStates: { rotated: 'Đã đổi', suspended: 'Tạm khóa', expired: 'Hết hạn', revoked: 'Đã thu hồi' },
  outcomes: { succeeded: 'Thành công', failed: 'Thất bại', refused: 'Bị từ chối' },
  cancelled: 'Đã hủy',
  pages: 'Các trang',
  newest: 'Mới nhất',
  older: 'Cũ hơn',
  account: 'Tài khoản',
  overview: 'Tổng quan',
  keysPage: 'Khóa',
  usage: 'Mức dùng',
  requestsPage: 'Yêu cầu',
  orders: 'Đơn hàng',
  filters: 'Bộ lọc',
  show: 'Xem',
  chooseFile: 'Chọn tệp',
  chooseFiles: 'Chọn các tệp',
  spans: {
    days: 'Ngày',
    today: 'Hôm nay',
    month: 'Tháng này',
    year: '1 năm',
    from: 'Từ',
    to: 'Đến',
    inForm: (day) => inBrackets(day, 'năm-tháng-ngày'),
    format: (day) => `Một ngày theo UTC, ví dụ ${day}`,
  },
  imagesPage: 'Ảnh',
  reset: 'Đặt lại',
};

export const words = { en, vi };
