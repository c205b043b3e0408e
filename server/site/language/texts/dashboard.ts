/*
 * Texts of the dashboard of an account: the plan with what is left of it, rate limits, keys, jobs, orders, sessions,
 * personal data, and usage of the last days. Counts and money in them are already formatted, except where a plural
 * depends on the count.
 */

import { type Html, html } from '../../html.js';
import { counted, FORMATS } from '../formats.js';

const { count } = FORMATS.vi;

const en = {
  title: 'Dashboard',
  first: {
    title: 'Start here',
    request: 'Send a first request',
    steps: {
      play: {
        title: 'Try it',
        words: 'Links, chat, sound and images in the browser. No key is needed.',
        open: 'Playground',
      },
      key: { title: 'Create a key', words: 'For a program of yours: one key for each.' },
      client: { title: 'Connect a client', words: 'Settings to copy, and a first request.', open: 'Setup' },
    },
  },
  signedInAs: (label: Html) => html`Signed in as ${label}`,
  plan: {
    title: 'Plan',
    none: 'No plan yet',
    noneWords: 'Your first key comes with the free plan. You can order the others.',
    seePlans: 'See the plans',
    operator: 'You are an operator of this gateway: your keys have every grant and no limits of a plan.',
    opened: (grants: string) => `Your keys can use ${grants}.`,
    openedExcept: (grants: string, withheld: string) =>
      html`Your keys can use ${grants}, but not ${withheld}. For those, see the <a href="/plans">other plans</a> or ask <a href="/plans#support">support</a>.`,
    used: (used: string, limit: string) => `${used} of ${limit} used`,
    unlimited: 'Unlimited.',
    doesNotExpire: 'Does not expire.',
    validUntil: (day: Html) => html`Valid until ${day}.`,
    choose: 'Choose a plan',
    more: 'Get more',
  },
  /** By the time after which the budget begins again. */
  allowances: {
    requests: { never: 'Requests', day: 'Requests today', month: 'Requests this month' },
    tokens: { never: 'Tokens', day: 'Tokens today', month: 'Tokens this month' },
    cost: {
      never: (currency: string) => currency,
      day: (currency: string) => `${currency} today`,
      month: (currency: string) => `${currency} this month`,
    },
  },
  rates: {
    title: 'This minute',
    oneMore: (seconds: number) => `One more in ${counted(seconds, 'second')}`,
    ofKey: (key: Html) => html`Requests of the key “${key}”. Each counts for 60 seconds.`,
  },
  jobs: {
    title: 'Latest jobs',
    none: 'No jobs in the last days',
    noneWords: html`Images and shop links run as jobs. <a href="/setup">The setup page</a> has a first request.`,
    took: (seconds: string) => `, ${seconds} s`,
    linkOf: (platform: string) => `${platform} link`,
    transcriptOf: (platform: string) => `${platform} transcript`,
  },
  orders: {
    all: 'All orders',
    title: 'Orders',
    none: 'No orders yet',
    noneWords: 'Choose a plan to place an order.',
    older: (orders: number) => `Older orders (${orders})`,
  },
  account: 'Sign-in and your data',
  sessions: {
    title: 'Sessions',
    words: 'Ends every session of yours, here and on all other devices. Your API keys keep working.',
    end: 'Sign out everywhere',
  },
  data: {
    title: 'Your data',
    words: 'Everything stored about your account, as one JSON file.',
    export: 'Export your data',
    delete: 'Delete my account',
    deleted: html`<strong>Deleted for good:</strong> your email, name and identity, sessions, names of keys, jobs with their prompts, images and results, stored answers and responses, single requests, and your webhook secret. Every key stops working, and jobs that wait or run are cancelled.`,
    stays: html`<strong>Kept without your name, as bookkeeping:</strong> orders, transfers without their text, plans and counts of usage, under a random id. The rest of a plan is lost. Backups of the operator keep older copies until they are deleted.`,
    confirm:
      'Your account is deleted with everything personal, and every key stops working. Orders and counts of usage stay without your name. This cannot be undone.',
    needsScripts: 'Deleting the account needs scripts, or the API.',
  },
  usage: {
    title: 'Usage',
    lastDays: (days: number) => `Requests, ${days} days.`,
    all: 'All usage',
    none: 'No usage yet',
    noneWords: 'Requests appear here a few seconds after they are answered.',
    chart: (requests: number, days: number, most: number) =>
      `${counted(requests, 'request')} in ${days} days, at most ${FORMATS.en.count(most)} on one day.`,
    showFailed: 'failed: show the requests',
    asTable: 'As a table',
    byDay: 'Usage by day',
  },
};

const vi: typeof en = {
  title: 'Tài khoản',
  first: {
    title: 'Bắt đầu ở đây',
    request: 'Gửi yêu cầu đầu tiên',
    steps: {
      play: {
        title: 'Dùng thử',
        words: 'Liên kết, trò chuyện, âm thanh và ảnh ngay trong trình duyệt. Không cần khóa.',
        open: 'Dùng thử',
      },
      key: { title: 'Tạo khóa', words: 'Cho chương trình của bạn: mỗi chương trình một khóa.' },
      client: { title: 'Kết nối ứng dụng', words: 'Thiết lập để sao chép và yêu cầu đầu tiên.', open: 'Cài đặt' },
    },
  },
  signedInAs: (label) => html`Đã đăng nhập: ${label}`,
  plan: {
    title: 'Gói',
    none: 'Chưa có gói',
    noneWords: 'Khóa đầu tiên đi kèm gói miễn phí. Bạn có thể đặt mua các gói khác.',
    seePlans: 'Xem các gói',
    operator: 'Bạn là người vận hành dịch vụ này: khóa của bạn có mọi quyền và không bị giới hạn bởi gói.',
    opened: (grants) => `Khóa của bạn dùng được ${grants}.`,
    openedExcept: (grants, withheld) =>
      html`Khóa của bạn dùng được ${grants}, nhưng không dùng được ${withheld}. Để dùng, hãy xem <a href="/plans">các gói khác</a> hoặc hỏi <a href="/plans#support">hỗ trợ</a>.`,
    used: (used, limit) => `đã dùng ${used} / ${limit}`,
    unlimited: 'Không giới hạn.',
    doesNotExpire: 'Không hết hạn.',
    validUntil: (day) => html`Dùng được đến ${day}.`,
    choose: 'Chọn gói',
    more: 'Mua thêm',
  },
  allowances: {
    requests: { never: 'Yêu cầu', day: 'Yêu cầu hôm nay', month: 'Yêu cầu tháng này' },
    tokens: { never: 'Số token', day: 'Token hôm nay', month: 'Token tháng này' },
    cost: {
      never: (currency) => currency,
      day: (currency) => `${currency} hôm nay`,
      month: (currency) => `${currency} tháng này`,
    },
  },
  rates: {
    title: 'Phút này',
    oneMore: (seconds) => `Thêm một lượt sau ${count(seconds)} giây`,
    ofKey: (key) => html`Yêu cầu của khóa “${key}”. Mỗi yêu cầu được tính trong 60 giây.`,
  },
  jobs: {
    title: 'Tác vụ mới nhất',
    none: 'Mấy ngày qua không có tác vụ',
    noneWords: html`Ảnh và liên kết cửa hàng chạy dưới dạng tác vụ. <a href="/setup">Trang cài đặt</a> có yêu cầu mẫu.`,
    took: (seconds) => `, ${seconds} giây`,
    linkOf: (platform) => `Liên kết ${platform}`,
    transcriptOf: (platform) => `Bản chép lời ${platform}`,
  },
  orders: {
    all: 'Tất cả đơn hàng',
    title: 'Đơn hàng',
    none: 'Chưa có đơn hàng',
    noneWords: 'Hãy chọn một gói để đặt hàng.',
    older: (orders) => `Đơn hàng cũ hơn (${orders})`,
  },
  account: 'Đăng nhập và dữ liệu',
  sessions: {
    title: 'Phiên đăng nhập',
    words: 'Kết thúc mọi phiên của bạn, ở đây và trên mọi thiết bị khác. Khóa API vẫn dùng được.',
    end: 'Đăng xuất mọi nơi',
  },
  data: {
    title: 'Dữ liệu của bạn',
    words: 'Mọi dữ liệu về tài khoản của bạn, trong một tệp JSON.',
    export: 'Xuất dữ liệu',
    delete: 'Xóa tài khoản',
    deleted: html`<strong>Xóa vĩnh viễn:</strong> email, tên và danh tính, phiên đăng nhập, tên khóa, tác vụ cùng câu lệnh, ảnh và kết quả, câu trả lời đã lưu, từng yêu cầu và mã bí mật webhook. Mọi khóa ngừng hoạt động, tác vụ đang chờ hoặc đang chạy bị hủy.`,
    stays: html`<strong>Giữ lại không kèm tên, cho sổ sách:</strong> đơn hàng, giao dịch không kèm nội dung, gói và số liệu sử dụng, dưới một mã ngẫu nhiên. Phần còn lại của gói bị mất. Bản sao lưu của người vận hành còn dữ liệu cũ cho đến khi bị xóa.`,
    confirm:
      'Tài khoản và mọi dữ liệu cá nhân sẽ bị xóa, mọi khóa ngừng hoạt động. Đơn hàng và số liệu sử dụng được giữ lại không kèm tên. Không thể hoàn tác.',
    needsScripts: 'Xóa tài khoản cần bật script hoặc dùng API.',
  },
  usage: {
    title: 'Mức dùng',
    lastDays: (days) => `Số yêu cầu trong ${days} ngày.`,
    all: 'Xem tất cả',
    none: 'Chưa có dữ liệu',
    noneWords: 'Yêu cầu xuất hiện ở đây vài giây sau khi được trả lời.',
    chart: (requests, days, most) =>
      `${count(requests)} yêu cầu trong ${days} ngày, nhiều nhất ${count(most)} trong một ngày.`,
    showFailed: 'thất bại: xem các yêu cầu',
    asTable: 'Xem dạng bảng',
    byDay: 'Mức dùng theo ngày',
  },
};

export const dashboard = { en, vi };
