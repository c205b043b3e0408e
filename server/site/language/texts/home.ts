/*
 * Texts of the home page: what the gateway does, and how to start with it. A gateway whose plans include no link data has
 * other words for the headline and the jobs, so that nothing is advertised that no plan gives.
 */

import { html } from '../../html.js';
import { counted, FORMATS } from '../formats.js';

const { count } = FORMATS.vi;

const en = {
  title: 'Link data, images and models behind one key',
  description: 'A self-hosted gateway: public links become structured data, prompts become images, and models answer.',
  /** Where the visitor is a customer of an operator. */
  ownDescription: 'Public links become structured data, prompts become images, and models answer.',
  ownLead:
    'One API reads public links, creates images as durable jobs, and offers text and audio models in the format of OpenAI’s SDKs. One key for all of it.',
  headline: html`Links in.<br>Documents out.`,
  lead: 'Your own gateway reads public links, creates images as durable jobs, and offers text and audio models in the format of OpenAI’s SDKs. One key for all of it.',
  /** Where no plan includes link data. */
  withoutLinks: {
    title: 'Images and models behind one key',
    description: 'A self-hosted gateway: prompts become images, and models answer.',
    ownDescription: 'Prompts become images, and models answer.',
    headline: html`One key.<br>Every model.`,
    lead: 'Your own gateway creates images as durable jobs, and offers text and audio models in the format of OpenAI’s SDKs. One key for all of it.',
    ownLead:
      'One API creates images as durable jobs, and offers text and audio models in the format of OpenAI’s SDKs. One key for all of it.',
    jobsTitle: 'Two jobs, one key',
  },
  openDashboard: 'Open the dashboard',
  getKey: 'Sign in and get a key',
  seeSetup: 'See the setup',
  pasteLink: 'Paste a public link',
  extract: 'Extract',
  keepsLink: 'You sign in first; the link is kept.',
  request: 'Request',
  answer: 'Answer, shortened',
  jobsTitle: 'Three jobs, one key',
  links: 'Link data',
  linksWords:
    'Title, author, numbers, media, reviews: a document with the same members for every platform, and an honest error where a link cannot be read. Videos come with an MP3. Fifty links fit into one request.',
  platforms: 'Platforms',
  images: 'Images',
  imagesWords:
    'Each image is a job that survives a crash: submit many, poll each, show each as it completes. You get exactly the size you ask for, and can send up to four input images.',
  imageJob: 'One image as a job',
  text: 'Text and sound',
  textWords: (models: { text: number; audio: number }) =>
    `${counted(models.text, 'text model')} and ${counted(models.audio, 'audio model')} are ready. Chats and responses stream through untouched. Speech, transcripts and sound effects have routes of their own.`,
  sdk: 'With the OpenAI SDK',
  showCode: 'Show the code',
  plans: 'Plans',
  plansWords: 'Input and output tokens count together. What you buy adds up. Keys can use what the plan includes.',
  compare: 'What each plan includes',
  howTitle: 'How to start',
  steps: [
    {
      title: 'Sign in',
      words: 'With the identity provider you already have. This site never sees your password.',
    },
    {
      title: 'Create a key',
      words: 'It is shown once. Keep it in an environment variable, never in a page or an app.',
    },
    {
      title: 'Send a request',
      words: 'With curl, an OpenAI SDK or a coding agent: the setup page has an example of each.',
    },
  ],
};

const vi: typeof en = {
  title: 'Dữ liệu liên kết, ảnh và mô hình với một khóa',
  description:
    'Cổng API tự vận hành: liên kết công khai thành dữ liệu có cấu trúc, câu lệnh thành ảnh, mô hình trả lời.',
  ownDescription: 'Liên kết công khai thành dữ liệu có cấu trúc, câu lệnh thành ảnh, mô hình trả lời.',
  ownLead:
    'Một API đọc liên kết công khai, tạo ảnh bằng tác vụ không bị mất, và cung cấp mô hình văn bản và âm thanh theo định dạng SDK của OpenAI. Tất cả chỉ với một khóa.',
  headline: html`Gửi liên kết.<br>Nhận dữ liệu.`,
  lead: 'Cổng API của riêng bạn đọc liên kết công khai, tạo ảnh bằng tác vụ không bị mất, và cung cấp mô hình văn bản và âm thanh theo định dạng SDK của OpenAI. Tất cả chỉ với một khóa.',
  withoutLinks: {
    title: 'Ảnh và mô hình với một khóa',
    description: 'Cổng API tự vận hành: câu lệnh thành ảnh, mô hình trả lời.',
    ownDescription: 'Câu lệnh thành ảnh, mô hình trả lời.',
    headline: html`Một khóa.<br>Mọi mô hình.`,
    lead: 'Cổng API của riêng bạn tạo ảnh bằng tác vụ không bị mất, và cung cấp mô hình văn bản và âm thanh theo định dạng SDK của OpenAI. Tất cả chỉ với một khóa.',
    ownLead:
      'Một API tạo ảnh bằng tác vụ không bị mất, và cung cấp mô hình văn bản và âm thanh theo định dạng SDK của OpenAI. Tất cả chỉ với một khóa.',
    jobsTitle: 'Hai việc, một khóa',
  },
  openDashboard: 'Mở trang tài khoản',
  getKey: 'Đăng nhập và lấy khóa',
  seeSetup: 'Xem cách cài đặt',
  pasteLink: 'Dán một liên kết công khai',
  extract: 'Đọc',
  keepsLink: 'Bạn đăng nhập trước; liên kết được giữ lại.',
  request: 'Yêu cầu',
  answer: 'Kết quả, rút gọn',
  jobsTitle: 'Ba việc, một khóa',
  links: 'Dữ liệu liên kết',
  linksWords:
    'Tiêu đề, tác giả, số liệu, tệp media, đánh giá: một tài liệu có cùng các trường cho mọi nền tảng, và lỗi rõ ràng khi không đọc được liên kết. Video có kèm MP3. Một yêu cầu nhận đến năm mươi liên kết.',
  platforms: 'Nền tảng',
  images: 'Ảnh',
  imagesWords:
    'Mỗi ảnh là một tác vụ không mất khi máy chủ gặp sự cố: gửi nhiều, theo dõi từng ảnh, hiển thị ngay khi xong. Bạn nhận đúng kích thước yêu cầu và có thể gửi đến bốn ảnh đầu vào.',
  imageJob: 'Một ảnh là một tác vụ',
  text: 'Văn bản và âm thanh',
  textWords: (models) =>
    `${count(models.text)} mô hình văn bản và ${count(models.audio)} mô hình âm thanh đã sẵn sàng. Câu trả lời được truyền nguyên vẹn từng phần. Giọng nói, bản chép lời và hiệu ứng âm thanh có đường dẫn riêng.`,
  sdk: 'Với SDK của OpenAI',
  showCode: 'Xem mã',
  plans: 'Gói',
  plansWords:
    'Token đầu vào và đầu ra được tính chung. Các gói mua thêm được cộng dồn. Khóa dùng được những gì có trong gói.',
  compare: 'Mỗi gói có những gì',
  howTitle: 'Bắt đầu thế nào',
  steps: [
    {
      title: 'Đăng nhập',
      words: 'Bằng nhà cung cấp danh tính bạn đang dùng. Trang này không bao giờ thấy mật khẩu của bạn.',
    },
    {
      title: 'Tạo khóa',
      words: 'Khóa chỉ hiển thị một lần. Hãy lưu trong biến môi trường, đừng để trong trang web hay ứng dụng.',
    },
    {
      title: 'Gửi yêu cầu',
      words: 'Bằng curl, SDK của OpenAI hoặc trợ lý lập trình: trang cài đặt có ví dụ cho từng loại.',
    },
  ],
};

export const home = { en, vi };
