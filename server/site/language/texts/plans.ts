/*
 * Texts of the page of plans, of the plan cards, and of what a plan does when it is paid: when it ends, what becomes of the
 * plan before it, and what follows. The points of a card say what is in the plan and what is not, each on its own line;
 * names and prices of plans are the operator's, and stay as they are.
 */

import { type Html, html } from '../../html.js';
import { counted, FORMATS } from '../formats.js';

const { count } = FORMATS.vi;

const en = {
  title: 'Plans',
  description: 'What the plans hold, and how they are paid.',
  lead: 'What you buy starts at once for all your keys. Input and output tokens count together.',
  content: 'What the plans hold',
  howPaying: 'How paying works',
  howToGet: 'How to get a plan',
  transfer: 'By bank transfer',
  transferWords: 'You get a QR code for your banking app, with amount, account and reference filled in.',
  matched: 'Matched by its code',
  matchedWords: 'Each order has its own code. Once the transfer is booked, your plan starts automatically.',
  change: 'If you have a plan',
  addedWords: 'What you buy is added to what is left. Tokens do not expire.',
  changeWords:
    'It is extended. What is left of another plan with an end becomes days of the new one, by price per day.',
  otherWays: 'Other ways to pay',
  support: 'Support',
  /** Where the operator has set no text. */
  supportWords: 'Ask the operator of this service for terms and prices.',
  chosen: (plan: string) => `Your choice: ${plan}`,
  order: 'Order and pay',
  signInToOrder: 'Sign in and order',
  priceInOrder: 'Price in the order',
  notIncluded: 'Not included:',
  yours: 'Your plan',
  others: 'Other plans',
  every: 'In every plan:',
  everyPaid: 'In every paid plan:',
  isOpen: (order: Html, paid: string | false) =>
    paid === false
      ? html`Order ${order} waits for payment.`
      : html`Order ${order} waits for the rest: ${paid} has arrived.`,
  thenCode: 'Then you get a QR code for your banking app.',
  cheapest: 'Lowest price per token',
  rate: (price: string) => `${price} for a million tokens`,
  onRequest: 'On request',
  noCharge: 'No charge',
  /** Beside a price: what is paid for. */
  once: 'once',
  perDays: (days: number) => `for ${counted(days, 'day')}`,
  start: 'Start',
  askSupport: 'Ask support',
  choose: 'Choose',
  buyMore: 'Buy more',
  needsScripts: 'Choosing a plan needs scripts, or the API.',
  points: {
    models: (names: string) => `Models: ${names}`,
    firstKey: 'Comes with your first key',
    allText: 'All text models',
    freeText: 'The free models',
    audio: 'Speech, transcripts and sounds',
    images: 'Images',
    links: 'Link data',
    doesNotExpire: 'Does not expire',
    validFor: (days: number) => `Valid for ${counted(days, 'day')}`,
  },
  outcome: {
    neverExpires: 'The plan never expires.',
    endsOn: (day: Html) => html`If you pay now, it ends on ${day}.`,
    credited: (days: number, plan: string) => `That includes ${counted(days, 'day')} for what is left of ${plan}.`,
    endsReplaced: (plan: string) =>
      `${plan} ends at once; its remaining time is not credited to a plan without an end.`,
    next: (plan: string) => `Then ${plan} continues.`,
  },
  withheld: {
    plan: (plan: string, grant: string) => `Your plan, ${plan}, does not include ${grant}.`,
    nowhere: (grant: string) => `This gateway does not offer ${grant}.`,
    includedIn: (plans: string) => `Included in ${plans}.`,
  },
};

const vi: typeof en = {
  title: 'Gói',
  description: 'Các gói gồm những gì và thanh toán thế nào.',
  lead: 'Gói mua có hiệu lực ngay cho mọi khóa của bạn. Token đầu vào và đầu ra được tính chung.',
  content: 'Các gói gồm những gì',
  howPaying: 'Cách thanh toán',
  howToGet: 'Cách nhận gói',
  transfer: 'Chuyển khoản ngân hàng',
  transferWords: 'Bạn nhận mã QR cho ứng dụng ngân hàng, đã điền sẵn số tiền, tài khoản và nội dung.',
  matched: 'Khớp theo mã đơn',
  matchedWords: 'Mỗi đơn hàng có mã riêng. Khi tiền về tài khoản, gói của bạn tự động có hiệu lực.',
  change: 'Nếu bạn đang có gói',
  addedWords: 'Phần mua thêm được cộng vào phần còn lại. Token không hết hạn.',
  changeWords:
    'Gói đó được gia hạn. Phần còn lại của gói khác có thời hạn được đổi thành ngày của gói mới, theo giá mỗi ngày.',
  otherWays: 'Cách thanh toán khác',
  support: 'Hỗ trợ',
  supportWords: 'Hãy hỏi người vận hành dịch vụ về điều khoản và giá.',
  chosen: (plan) => `Gói đã chọn: ${plan}`,
  order: 'Đặt mua và thanh toán',
  signInToOrder: 'Đăng nhập để đặt mua',
  priceInOrder: 'Giá ghi trong đơn hàng',
  notIncluded: 'Không gồm:',
  yours: 'Đang dùng',
  others: 'Các gói khác',
  every: 'Gói nào cũng có:',
  everyPaid: 'Gói trả phí nào cũng có:',
  isOpen: (order, paid) =>
    paid === false ? html`Đơn ${order} đang chờ thanh toán.` : html`Đơn ${order} đã nhận ${paid}, còn thiếu một phần.`,
  thenCode: 'Sau đó bạn nhận mã QR cho ứng dụng ngân hàng.',
  cheapest: 'Giá token thấp nhất',
  rate: (price) => `${price} cho một triệu token`,
  onRequest: 'Liên hệ',
  noCharge: 'Không mất phí',
  once: 'một lần',
  perDays: (days) => `cho ${count(days)} ngày`,
  start: 'Bắt đầu',
  askSupport: 'Liên hệ hỗ trợ',
  choose: 'Chọn',
  buyMore: 'Mua thêm',
  needsScripts: 'Chọn gói cần bật script hoặc dùng API.',
  points: {
    models: (names) => `Mô hình: ${names}`,
    firstKey: 'Có ngay khi tạo khóa đầu tiên',
    allText: 'Mọi mô hình văn bản',
    freeText: 'Các mô hình miễn phí',
    audio: 'Giọng nói, bản chép lời, âm thanh',
    images: 'Ảnh',
    links: 'Dữ liệu liên kết',
    doesNotExpire: 'Không hết hạn',
    validFor: (days) => `Thời hạn ${count(days)} ngày`,
  },
  outcome: {
    neverExpires: 'Gói không bao giờ hết hạn.',
    endsOn: (day) => html`Nếu thanh toán ngay, gói hết hạn ngày ${day}.`,
    credited: (days, plan) => `Trong đó có ${count(days)} ngày đổi từ phần còn lại của ${plan}.`,
    endsReplaced: (plan) => `${plan} kết thúc ngay; thời gian còn lại không được cộng vào gói không thời hạn.`,
    next: (plan) => `Sau đó ${plan} tiếp tục.`,
  },
  withheld: {
    plan: (plan, grant) => `Gói ${plan} của bạn không gồm ${grant}.`,
    nowhere: (grant) => `Dịch vụ này không cung cấp ${grant}.`,
    includedIn: (plans) => `Có trong ${plans}.`,
  },
};

export const plans = { en, vi };
