import { sampleJob } from './sample.js';

export const findJob = {
  key: 'job',
  noun: 'Job',
  display: { label: 'Find Job', description: 'Finds a job with its status by its External ID.' },
  operation: {
    inputFields: [{ key: 'externalId', label: 'External ID', required: true }],
    async perform(z, { inputData }) {
      const response = await z.request({ url: '/api/v1/jobs', params: { externalId: inputData.externalId } });
      return response.data.jobs;
    },
    sample: sampleJob,
  },
};

export const findTranscript = {
  key: 'transcript',
  noun: 'Transcript',
  display: {
    label: 'Find Transcript',
    description: 'Finds what was said in a meeting: the transcript, or the captions if there is none.',
  },
  operation: {
    inputFields: [{ key: 'jobId', label: 'Job ID', required: true, helpText: 'The ID of the job that recorded the meeting.' }],
    async perform(z, { inputData }) {
      const url = `/api/v1/jobs/${encodeURIComponent(inputData.jobId)}/transcript`;
      const response = await z.request({ url, params: { format: 'text' } });
      return [{ id: inputData.jobId, transcript: response.content }];
    },
    sample: { id: '0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e01', transcript: '[00:01:02] Ada: Good morning.' },
  },
};
