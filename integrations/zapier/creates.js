import { randomUUID } from 'node:crypto';

import { sampleJob } from './sample.js';

const enabled = (value) => (typeof value === 'boolean' ? { enabled: value } : undefined);

export const sendBot = {
  key: 'send_bot',
  noun: 'Bot',
  display: { label: 'Send Bot', description: 'Sends a bot into a meeting, now or later.' },
  operation: {
    inputFields: [
      { key: 'meetingUrl', label: 'Meeting URL', required: true, placeholder: 'https://meet.google.com/abc-defg-hij' },
      {
        key: 'externalId',
        label: 'External ID',
        helpText:
          'Your own ID for the meeting, such as the ID of its calendar event. ' +
          'Sending another bot with the same ID returns the existing job. ' +
          'Without it, you get the existing job if a bot is already in the meeting, or joins it within 15 minutes.',
      },
      { key: 'joinAt', label: 'Join At', type: 'datetime', helpText: 'When to join. By default, the bot joins immediately.' },
      { key: 'displayName', label: 'Display Name', helpText: 'The name that other participants see.' },
      { key: 'captions', label: 'Captions', type: 'boolean', helpText: 'Whether to record the live captions of the meeting platform.' },
      { key: 'chat', label: 'Chat', type: 'boolean', helpText: 'Whether to record the messages in the chat of the meeting.' },
      {
        key: 'transcript',
        label: 'Transcript',
        type: 'boolean',
        helpText: 'Whether to transcribe the recording, if the service has a speech recognizer.',
      },
      { key: 'allowSpeaking', label: 'Allow Speaking', type: 'boolean', helpText: 'Whether the bot may speak and show pictures.' },
      {
        key: 'moreOptions',
        label: 'More Options',
        type: 'code',
        helpText:
          'A JSON object with other options of the API, such as `{"autoLeave": {"afterSoloSeconds": 30}}`. ' +
          'An option replaces the field above that sets it.',
      },
    ],
    async perform(z, { inputData }) {
      const body = {
        meetingUrl: inputData.meetingUrl,
        joinAt: inputData.joinAt || undefined,
        displayName: inputData.displayName || undefined,
        captions: enabled(inputData.captions),
        chat: inputData.chat,
        transcript: enabled(inputData.transcript),
        output: inputData.allowSpeaking ? {} : undefined,
        ...(inputData.externalId ? { externalId: inputData.externalId } : { externalId: `zapier-${randomUUID()}`, dedupe: true }),
        ...parseOptions(z, inputData.moreOptions),
      };
      const response = await z.request({ method: 'POST', url: '/api/v1/jobs', body });
      return response.data;
    },
    sample: sampleJob,
  },
};

/** Returns the options that have no field of their own, which are entered as JSON. */
function parseOptions(z, text) {
  if (!text) return {};
  try {
    const options = JSON.parse(text);
    if (typeof options === 'object' && !Array.isArray(options)) return options;
  } catch {} // reported below
  throw new z.errors.Error('More Options is not a JSON object.', 'invalid_input', 400);
}

export const leaveMeeting = command({
  key: 'leave_meeting',
  noun: 'Bot',
  label: 'Leave Meeting',
  description: 'Makes the bot leave the meeting and finish the recording.',
  path: 'leave-call',
});

export const speakText = command({
  key: 'speak_text',
  noun: 'Text',
  label: 'Speak Text',
  description: 'Speaks a text in the meeting. Send the bot with Allow Speaking.',
  path: 'speak',
  hasText: true,
});

export const sendChatMessage = command({
  key: 'send_chat_message',
  noun: 'Chat Message',
  label: 'Send Chat Message',
  description: 'Writes to the chat of the meeting.',
  path: 'send-chat-message',
  hasText: true,
});

/** Returns an action that sends a command to the bot of a job. */
function command({ key, noun, label, description, path, hasText = false }) {
  const textFields = [
    { key: 'text', label: 'Text', type: 'text', required: true },
    {
      key: 'runId',
      label: 'Run ID',
      helpText:
        'An ID of this run, such as the Delivery ID of the event that started the Zap. ' +
        'If Zapier repeats the step with the same ID within 24 hours, the service executes it once.',
    },
  ];
  return {
    key,
    noun,
    display: { label, description },
    operation: {
      inputFields: [
        { key: 'jobId', label: 'Job ID', required: true, helpText: 'The ID that Send Bot returned.' },
        ...(hasText ? textFields : []),
      ],
      async perform(z, { inputData }) {
        const response = await z.request({
          method: 'POST',
          url: `/api/v1/jobs/${encodeURIComponent(inputData.jobId)}/${path}`,
          body: hasText ? { text: inputData.text } : undefined,
        });
        return response.data;
      },
      sample: { status: 'queued', commandId: '0192f5cb-11aa-7b54-8f0e-5a3c9d1e2f40' },
    },
  };
}
