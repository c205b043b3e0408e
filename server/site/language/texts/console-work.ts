/*
 * Texts of background jobs in the console.
 */

const en = {
  jobs: {
    queues: 'Background jobs',
    none: 'No jobs',
    kind: 'Kind',
    oldest: 'Oldest waits',
    completedHour: 'Completed, last hour',
    failedHour: 'Failed, last hour',
    show: 'show the jobs',
  },
};

const vi: typeof en = {
  jobs: {
    queues: 'Tác vụ nền',
    none: 'Không có tác vụ',
    kind: 'Loại',
    oldest: 'Đợi lâu nhất',
    completedHour: 'Xong trong giờ qua',
    failedHour: 'Lỗi trong giờ qua',
    show: 'xem các tác vụ',
  },
};

export const consoleWork = { en, vi };
