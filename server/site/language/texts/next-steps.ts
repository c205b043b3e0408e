/*
 * Texts of the list on the dashboard of an operator: what a fresh gateway still lacks, and where the guides say how.
 */

import { counted } from '../formats.js';

const en = {
  title: 'Set up your gateway',
  lead: 'You operate this gateway. It works with mocks until you connect the real thing.',
  steps: {
    model: {
      title: 'Connect a model',
      words: 'OpenAI, Anthropic, a local server, or any compatible one.',
      open: 'Connect',
    },
    prices: {
      title: 'Set prices',
      words: 'What models cost: usage then shows money, and budgets can limit it.',
      open: 'Set',
    },
    people: {
      title: 'Let people in',
      words: 'Sign-in by invitation and passkey, or with your identity provider.',
      open: 'Invite',
    },
    links: {
      title: 'Open link data',
      words: 'No plan includes it yet, so your keys alone can use it.',
      open: 'Open',
    },
    payments: {
      title: 'Take payments',
      words: 'Prices and a bank account: orders are then paid by transfer.',
      open: 'Set up',
    },
  },
  done: 'Done',
  progress: (done: number, all: number) => `${done} of ${all} done`,
  left: (steps: number) => `${counted(steps, 'step')} left`,
};

const vi: typeof en = {
  title: 'Thiết lập dịch vụ của bạn',
  lead: 'Bạn vận hành dịch vụ này. Trước khi kết nối mô hình thật, các mô hình chỉ là mô phỏng.',
  steps: {
    model: {
      title: 'Kết nối mô hình',
      words: 'OpenAI, Anthropic, máy chủ của bạn hoặc bất kỳ dịch vụ tương thích nào.',
      open: 'Kết nối',
    },
    prices: {
      title: 'Đặt giá',
      words: 'Giá của các mô hình: khi đó mức dùng hiện số tiền và ngân sách có thể giới hạn nó.',
      open: 'Đặt giá',
    },
    people: {
      title: 'Mời người dùng',
      words: 'Đăng nhập bằng lời mời và passkey, hoặc qua nhà cung cấp danh tính của bạn.',
      open: 'Mời',
    },
    links: {
      title: 'Mở dữ liệu liên kết',
      words: 'Chưa gói nào bao gồm, nên chỉ khóa của bạn dùng được.',
      open: 'Mở',
    },
    payments: {
      title: 'Nhận thanh toán',
      words: 'Đặt giá và tài khoản ngân hàng để khách trả bằng chuyển khoản.',
      open: 'Thiết lập',
    },
  },
  done: 'Đã xong',
  progress: (done, all) => `Đã xong ${done} / ${all}`,
  left: (steps) => `Còn ${steps} bước`,
};

export const nextSteps = { en, vi };
