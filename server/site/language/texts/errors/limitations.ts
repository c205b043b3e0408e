/*
 * What the notes of a document's limitations mean, in Vietnamese; the English sentences come with the document. A note
 * of a count, such as `1 of 3`, has it as `{count}`. Other details, such as the methods that did not answer, are left
 * out. A note that is not here shows its English sentence.
 */

const NO_FILES = 'Dữ liệu đầy đủ nhưng không có tệp media';

export const VIETNAMESE_LIMITATIONS: Readonly<Record<string, string>> = {
  metadata_only: 'Không tìm thấy tệp media.',
  partial: 'Có thể thiếu một số trường vì không phải nguồn nào cũng trả lời.',
  fallback_source: 'Nguồn thường dùng không trả lời. Dữ liệu lấy từ nguồn khác có ít trường hơn.',
  stale_cache: 'Hiện không kết nối được với nền tảng. Đây là dữ liệu lấy trước đó.',
  stats_rounded: 'Nền tảng chỉ hiển thị một số con số ở dạng rút gọn.',
  stats_hidden: 'Chủ nội dung ẩn một số con số.',
  stats_not_shown: 'Trang của nội dung không hiển thị con số nào.',
  live_now: 'Đây là buổi phát trực tiếp đang diễn ra. Có thể tải xuống khi kết thúc.',
  live_upcoming: 'Buổi phát trực tiếp này chưa bắt đầu.',
  live_offline: 'Buổi phát trực tiếp này đang ngoại tuyến.',
  age_restricted: `${NO_FILES}: nền tảng chỉ cho người lớn đã đăng nhập xem.`,
  geo_blocked: `${NO_FILES}: nội dung không xem được ở quốc gia của máy chủ.`,
  members_only: `${NO_FILES}: chỉ dành cho hội viên của kênh.`,
  paid: `${NO_FILES}: phải mua mới xem được.`,
  login_required: `${NO_FILES}: nền tảng chỉ cho người đã đăng nhập xem.`,
  private: `${NO_FILES}: chủ nội dung chỉ cho một số người xem.`,
  password_protected: `${NO_FILES}: nền tảng yêu cầu mật khẩu.`,
  unplayable: `${NO_FILES}: nền tảng không còn phát nội dung này.`,
  processing: `${NO_FILES}: nền tảng còn đang xử lý. Hãy thử lại sau.`,
  media_refused: `${NO_FILES}: nền tảng đang từ chối máy chủ này. Hãy thử lại sau.`,
  media_login_only: 'Nền tảng chỉ cho người đã đăng nhập xem các tệp.',
  media_ip_bound: 'Địa chỉ tệp chỉ dùng được từ máy chủ này. Hãy dùng liên kết media của dịch vụ.',
  media_cookie_bound: 'Địa chỉ tệp chỉ dùng được với cookie của lần truy cập này. Hãy dùng liên kết media của dịch vụ.',
  media_separate_tracks: 'Hình và tiếng nằm ở hai tệp riêng.',
  media_unverified: 'Một số tệp media không tải được: {count}.',
  media_not_all_verified: 'Chỉ kiểm tra các tệp media đầu tiên: {count}.',
  media_ciphered: 'Một số tệp không có địa chỉ dùng được.',
  sabr_only: 'Tệp chỉ phát được trong trình phát của nền tảng.',
  drm: 'Tệp được bảo vệ bản quyền và chỉ phát được trên nền tảng.',
  subtitles_withheld: 'Nền tảng chỉ đưa phụ đề cho trình phát của mình.',
  transcript_unavailable: 'Không có bản chép lời.',
  transcript_pending: 'Bản chép lời chưa sẵn sàng.',
  transcript_language: 'Bản chép lời ở ngôn ngữ khác với ngôn ngữ đã chọn.',
  no_audio_track: 'Video không có tiếng.',
  mp3_unavailable: 'Không tạo được MP3 từ nội dung này.',
  carousel_truncated: 'Nền tảng chỉ hiển thị một phần số ảnh: {count}.',
  caption_truncated: 'Nền tảng chỉ hiển thị phần đầu của văn bản.',
  published_at_day_only: 'Nền tảng chỉ hiển thị ngày đăng, không có giờ.',
  masked_price: 'Cửa hàng ẩn một phần giá.',
  not_for_sale: 'Sản phẩm không còn bán.',
  reviews_partial: 'Không tìm thấy đủ số đánh giá đã chọn: {count}.',
  reviews_from_page: 'Đây là đánh giá hiển thị trên trang sản phẩm, không phải mới nhất.',
};
