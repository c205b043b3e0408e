/*
 * Texts of the images part of the playground, and of its script.
 */

const en = {
  title: 'Images',
  prompt: 'Prompt',
  promptSample: 'A tug in the harbour at dawn',
  size: 'Size',
  autoSize: 'Let the model decide',
  count: 'Number of images',
  references: 'Input images',
  referencesWords: 'Drop up to four here: PNG, JPEG, WebP or GIF, 10 MB each.',
  create: 'Create images',
  counts: 'Each image is one job and counts as one request.',
  allImages: 'All your images',
};

const vi: typeof en = {
  title: 'Ảnh',
  prompt: 'Câu lệnh',
  promptSample: 'Tàu kéo trong cảng lúc bình minh',
  size: 'Kích thước',
  autoSize: 'Để mô hình quyết định',
  count: 'Số ảnh',
  references: 'Ảnh đầu vào',
  referencesWords: 'Thả tối đa bốn ảnh vào đây: PNG, JPEG, WebP hoặc GIF, mỗi ảnh 10 MB.',
  create: 'Tạo ảnh',
  counts: 'Mỗi ảnh là một tác vụ và tính là một yêu cầu.',
  allImages: 'Tất cả ảnh của bạn',
};

export const playgroundImages = { en, vi };

const enScript = {
  image: 'Image {number}',
  submitted: '{name} was submitted.',
  queued: 'Queued',
  queuedAt: 'Queued, {position} in the queue',
  generating: 'Generating',
  cancelled: 'Cancelled.',
  wasCancelled: '{name} was cancelled.',
  failed: '{name} failed.',
  itFailed: 'It failed.',
  noConnection: 'No connection. Retrying.',
  cancel: 'Cancel',
  again: 'Try again',
  open: 'Open',
  download: 'Download',
  ready: '{name} is ready.',
};

const viScript: typeof enScript = {
  image: 'Ảnh {number}',
  submitted: 'Đã gửi {name}.',
  queued: 'Đang chờ',
  queuedAt: 'Đang chờ, thứ {position} trong hàng đợi',
  generating: 'Đang tạo',
  cancelled: 'Đã hủy.',
  wasCancelled: 'Đã hủy {name}.',
  failed: '{name} thất bại.',
  itFailed: 'Tạo ảnh thất bại.',
  noConnection: 'Mất kết nối. Đang thử lại.',
  cancel: 'Hủy',
  again: 'Thử lại',
  open: 'Mở',
  download: 'Tải xuống',
  ready: '{name} đã sẵn sàng.',
};

export const playgroundImagesScript = { en: enScript, vi: viScript };
