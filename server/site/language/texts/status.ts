/*
 * Texts of the status page: states of parts now and in the last 24 hours, results of the live probes, and incidents. The
 * words of an incident are the operator's, in the operator's language.
 */

import { counted, FORMATS } from '../formats.js';

const { count } = FORMATS.vi;

const en = {
  title: 'Status',
  description: 'The state of this gateway: its parts, models and platforms now and in the last 24 hours.',
  overall: {
    ok: 'All parts are operational',
    degraded: 'Some parts are degraded',
    down: 'The service is down',
    /** All is well, and some models are mocks. */
    mocks: 'The gateway is operational',
  },
  /** What the gateway measures itself, beside what the operator reports. */
  affected: (parts: string) => `Measured by the gateway: ${parts}`,
  /** Before links to them. */
  named: { open: 'Reported by the operator:', planned: 'Planned:' },
  moreIncidents: (more: number) => `${more} more`,
  asOf: 'As of',
  states: { ok: 'Operational', degraded: 'Degraded', down: 'Down', none: 'No data' },
  groups: { service: 'Gateway', model: 'Models', platform: 'Platforms' },
  parts: {
    gateway: 'API and site',
    database: 'Database',
    jobs: 'Background jobs',
    files: 'File storage',
    payments: 'Payments',
    sign_in: 'Sign-in',
  },
  andMore: (more: number) => `and ${more} more`,
  mock: 'Mock',
  lastDay: 'Last 24 hours',
  /** After a percentage, for screen readers. */
  fine: 'operational',
  unknown: '–',
  kinds: { text: 'Text', image: 'Images', audio: 'Audio', several: 'Several kinds' },
  /** Models of audio by what they do. */
  audio: { speech: 'Speech', transcripts: 'Transcripts', sounds: 'Voices and sounds' },
  mocks: 'No provider serves these yet: built-in mocks answer in place of one.',
  bars: '24 hours, half an hour a bar:',
  /** Below the bars, at equal distances. */
  scale: ['24 h ago', '18 h', '12 h', '6 h', 'Now'],
  /** A span of the last 24 hours, for screen readers and at a mouse. */
  span: (from: string, to: string, state: string) => `${from} to ${to} UTC: ${state}`,
  probe: (all: number) => `All ${counted(all, 'live check')} passed,`,
  probeFailed: (failed: number, all: number) =>
    `Some links may fail: ${failed} of ${counted(all, 'live check')} did not pass,`,
  incidents: 'Incidents',
  incidentKinds: { outage: 'Outage', degraded: 'Degraded service', maintenance: 'Maintenance' },
  incidentStates: {
    investigating: 'Investigating',
    identified: 'Identified',
    monitoring: 'Monitoring',
    resolved: 'Resolved',
  },
  /** Of an update that says no state. */
  update: 'Update',
  open: 'Open',
  openIncidents: 'Open incidents',
  planned: 'Planned',
  ended: 'Ended',
  since: 'Since',
  begins: 'Begins',
  began: 'Began',
  endedAt: 'Ended',
  noIncidents: 'No incidents',
  noIncidentsWords: 'None were reported in the last two weeks.',
  unread: 'The incidents cannot be read at the moment.',
  forPrograms: 'For programs: GET /health',
};

const vi: typeof en = {
  title: 'Tình trạng',
  description: 'Tình trạng của dịch vụ: các bộ phận, mô hình và nền tảng hiện tại và trong 24 giờ qua.',
  overall: {
    ok: 'Mọi thứ hoạt động bình thường',
    degraded: 'Một số phần đang gặp sự cố',
    down: 'Dịch vụ đang ngừng hoạt động',
    mocks: 'Cổng API hoạt động bình thường',
  },
  affected: (parts) => `Cổng tự đo được: ${parts}`,
  named: { open: 'Người vận hành báo:', planned: 'Sắp tới:' },
  moreIncidents: (more) => `${count(more)} mục khác`,
  asOf: 'Cập nhật lúc',
  states: { ok: 'Bình thường', degraded: 'Trục trặc', down: 'Ngừng', none: 'Chưa có dữ liệu' },
  groups: { service: 'Hệ thống', model: 'Mô hình', platform: 'Nền tảng' },
  parts: {
    gateway: 'API và trang web',
    database: 'Cơ sở dữ liệu',
    jobs: 'Tác vụ nền',
    files: 'Lưu trữ tệp',
    payments: 'Thanh toán',
    sign_in: 'Đăng nhập',
  },
  andMore: (more) => `và ${count(more)} mô hình khác`,
  mock: 'Mô phỏng',
  lastDay: '24 giờ qua',
  fine: 'hoạt động bình thường',
  unknown: '–',
  kinds: { text: 'Văn bản', image: 'Ảnh', audio: 'Âm thanh', several: 'Nhiều loại' },
  audio: { speech: 'Giọng nói', transcripts: 'Bản chép lời', sounds: 'Giọng và âm thanh' },
  mocks: 'Các loại này chưa có nhà cung cấp: mô phỏng có sẵn trả lời thay.',
  bars: '24 giờ, mỗi vạch nửa giờ:',
  scale: ['24 giờ trước', '18 giờ', '12 giờ', '6 giờ', 'Bây giờ'],
  span: (from, to, state) => `${from} đến ${to} UTC: ${state}`,
  probe: (all) => `Kiểm tra trực tiếp: đạt cả ${count(all)},`,
  probeFailed: (failed, all) =>
    `Một số liên kết có thể lỗi: ${count(failed)} trên ${count(all)} kiểm tra trực tiếp không đạt,`,
  incidents: 'Sự cố',
  incidentKinds: { outage: 'Ngừng dịch vụ', degraded: 'Trục trặc', maintenance: 'Bảo trì' },
  incidentStates: {
    investigating: 'Đang tìm nguyên nhân',
    identified: 'Đã tìm ra nguyên nhân',
    monitoring: 'Đang theo dõi',
    resolved: 'Đã khắc phục',
  },
  update: 'Cập nhật',
  open: 'Đang xử lý',
  openIncidents: 'Sự cố đang xử lý',
  planned: 'Sắp tới',
  ended: 'Đã kết thúc',
  since: 'Từ',
  begins: 'Bắt đầu',
  began: 'Đã bắt đầu',
  endedAt: 'Đã kết thúc',
  noIncidents: 'Không có sự cố',
  noIncidentsWords: 'Không có báo cáo nào trong hai tuần qua.',
  unread: 'Hiện chưa đọc được danh sách sự cố.',
  forPrograms: 'Dành cho chương trình: GET /health',
};

export const status = { en, vi };
