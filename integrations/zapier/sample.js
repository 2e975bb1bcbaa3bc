/** The sample of each operation that returns a job. */
export const sampleJob = {
  id: '0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e01',
  externalId: 'standup-2026-11-20',
  status: 'completed',
  meetingUrl: 'https://meet.google.com/abc-defg-hij',
  platform: 'meet',
  joinAt: '2026-11-20T13:00:00.000Z',
  attempts: 1,
  createdAt: '2026-11-20T12:00:00.000Z',
  startedAt: '2026-11-20T13:00:03.262Z',
  finalizedAt: '2026-11-20T14:00:03.262Z',
  manifestUri: 'https://standin.example.com/api/v1/jobs/0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e01/manifest',
  failureCode: null,
  failureDetail: null,
};
