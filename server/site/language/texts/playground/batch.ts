/*
 * Texts of the part of the playground that reads lists of links, and of its script.
 */

const en = {
  title: 'Several links',
  newList: 'New list',
  links: 'Links, one on each line',
  linksWords: 'Paste them, or drop a text or CSV file: each address in it counts. Up to 10,000.',
  file: 'File with links',
  read: 'Read all',
  counts: 'Each link counts as one request, at the pace of your plan.',
};

const vi: typeof en = {
  title: 'Nhiều liên kết',
  newList: 'Danh sách mới',
  links: 'Mỗi dòng một liên kết',
  linksWords: 'Dán vào đây, hoặc thả tệp văn bản hay CSV: mọi địa chỉ trong tệp đều được đọc. Tối đa 10.000.',
  file: 'Tệp có liên kết',
  read: 'Đọc tất cả',
  counts: 'Mỗi liên kết tính là một yêu cầu, theo tốc độ của gói.',
};

export const playgroundBatch = { en, vi };

const enScript = {
  noLinks: 'There is no link in this text. A link begins with https://.',
  tooMany: 'There are {count} links; a list has at most 10,000.',
  notLink: '1 line is not a link and was left out: “{line}”',
  notLinks: '{count} lines are not links and were left out. The first: “{line}”',
  found: 'Links found: {count}.',
  batch: 'List of {count} links',
  done: '{done} of {count} read, {failed} failed',
  states: {
    queued: 'Queued',
    processing: 'Reading',
    completed: 'Completed',
    failed: 'Failed',
    cancelled: 'Cancelled',
  },
  cancel: 'Cancel',
  results: 'Results',
  showResults: 'Show results',
  hideResults: 'Hide results',
  firstOnly: 'The first {count} links. The files have all of them.',
  noResults: 'No link has been read yet.',
  live: 'live stream, no file',
  open: 'Open',
  openOne: 'Open: {title}',
  noConnection: 'No connection. Retrying.',
  retryFailed: 'Retry failed',
  download: 'Download',
  json: 'JSON lines',
  csv: 'CSV',
  zip: 'ZIP (CSV and JSON files)',
  playlist: 'Playlist (M3U)',
  none: 'No lists yet. Results are kept for a day.',
};

const viScript: typeof enScript = {
  noLinks: 'Không có liên kết nào trong nội dung này. Liên kết bắt đầu bằng https://.',
  tooMany: 'Có {count} liên kết; mỗi danh sách có tối đa 10.000.',
  notLink: 'Có 1 dòng không phải liên kết nên được bỏ qua: “{line}”',
  notLinks: 'Có {count} dòng không phải liên kết nên được bỏ qua. Dòng đầu: “{line}”',
  found: 'Số liên kết: {count}.',
  batch: 'Danh sách {count} liên kết',
  done: 'Đã đọc {done}/{count}, {failed} thất bại',
  states: {
    queued: 'Đang chờ',
    processing: 'Đang đọc',
    completed: 'Hoàn tất',
    failed: 'Thất bại',
    cancelled: 'Đã hủy',
  },
  cancel: 'Hủy',
  results: 'Kết quả',
  showResults: 'Xem kết quả',
  hideResults: 'Ẩn kết quả',
  firstOnly: '{count} liên kết đầu tiên. Các tệp có tất cả.',
  noResults: 'Chưa đọc xong liên kết nào.',
  live: 'phát trực tiếp, không có tệp',
  open: 'Mở',
  openOne: 'Mở: {title}',
  noConnection: 'Mất kết nối. Đang thử lại.',
  retryFailed: 'Thử lại lỗi',
  download: 'Tải xuống',
  json: 'Dòng JSON',
  csv: 'Tệp CSV',
  zip: 'ZIP (CSV và các tệp JSON)',
  playlist: 'Danh sách phát (M3U)',
  none: 'Chưa có danh sách nào. Kết quả được giữ một ngày.',
};

export const playgroundBatchScript = { en: enScript, vi: viScript };
