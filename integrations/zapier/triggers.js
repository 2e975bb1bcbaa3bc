import { verifySignature } from './signature.js';

const choices = {
  'bot.command_outcome': 'Bot: Command Outcome',
  'bot.competing_bot_detected': 'Bot: Competing Bot Detected',
  'bot.output': 'Bot: Output',
  'bot.recording_permission_response': 'Bot: Recording Permission Response',
  'bot.stream_changed': 'Bot: Stream Changed',
  'calendar.event_cancelled': 'Calendar: Event Cancelled',
  'calendar.event_scheduled': 'Calendar: Event Scheduled',
  'calendar.event_updated': 'Calendar: Event Updated',
  'calendar.state_changed': 'Calendar: State Changed',
  'chat.message': 'Chat: Message',
  'job.failed': 'Job: Failed',
  'job.finalized': 'Job: Finalized',
  'job.status_changed': 'Job: Status Changed',
  'job.transcript_ready': 'Job: Transcript Ready',
  'job.video_ready': 'Job: Video Ready',
  'participant.joined': 'Participant: Joined',
  'participant.left': 'Participant: Left',
  'participant.speaking': 'Participant: Speaking',
  'transcript.data': 'Transcript: Data',
};

export const recordingReady = trigger({
  key: 'recording_ready',
  noun: 'Recording',
  label: 'Recording Ready',
  description: 'Triggers when the recording of a meeting is ready.',
  fixedEvent: 'job.finalized',
});

export const transcriptReady = trigger({
  key: 'transcript_ready',
  noun: 'Transcript',
  label: 'Transcript Ready',
  description: 'Triggers when the transcript of a meeting is ready, if your service has a speech recognizer.',
  fixedEvent: 'job.transcript_ready',
});

export const event = trigger({
  key: 'event',
  noun: 'Event',
  label: 'Event',
  description: 'Triggers when something happens to a bot, in its meeting or to its recording.',
  inputFields: [
    {
      key: 'event',
      label: 'Event',
      required: true,
      choices,
      helpText: 'A meeting can cause many participant, chat and live transcript events.',
    },
  ],
});

/** Returns a trigger that registers a webhook endpoint for an event: a fixed one, or the one that the user selects. */
function trigger({ key, noun, label, description, fixedEvent, inputFields = [] }) {
  const eventOf = (bundle) => fixedEvent ?? bundle.inputData.event;
  return {
    key,
    noun,
    display: { label, description },
    operation: {
      type: 'hook',
      inputFields,

      async performSubscribe(z, bundle) {
        const body = { url: bundle.targetUrl, events: [eventOf(bundle)], description: 'Zapier' };
        const response = await z.request({ method: 'POST', url: '/api/v1/webhook-endpoints', body });
        return response.data;
      },

      async performUnsubscribe(z, bundle) {
        await z.request({ method: 'DELETE', url: `/api/v1/webhook-endpoints/${bundle.subscribeData.id}` });
        return {};
      },

      /** Starts the Zap with an event, if the team's secret has signed it. */
      perform(z, bundle) {
        const { webhookSecret } = bundle.authData;
        if (webhookSecret && !verifySignature(webhookSecret, bundle.rawRequest)) {
          throw new z.errors.HaltedError(
            'Invalid webhook signature. Check that the connection has the webhook secret that "standin teams show NAME --secret" prints.',
          );
        }
        return [withId(JSON.parse(bundle.rawRequest.content))];
      },

      /** Reads the example of the event from the guide of the service. */
      async performList(z, bundle) {
        const { content } = await z.request('/docs/guide/reference/events.md');
        const section = content.split(`\n## ${eventOf(bundle)}\n`)[1];
        const example = section?.match(/```json\n(.*?)```/s)?.[1];
        return example ? [withId(JSON.parse(example))] : [];
      },

      sample: {
        id: 'dlv_0192f5c86911a7c1b0c86a7b8c9d0e1f',
        deliveryId: 'dlv_0192f5c86911a7c1b0c86a7b8c9d0e1f',
        event: fixedEvent ?? 'job.finalized',
        emittedAt: '2026-11-20T13:00:03.262Z',
        attempt: 1,
        version: 2,
        data: {
          event: fixedEvent ?? 'job.finalized',
          jobId: '0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e01',
          job: { id: '0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e01', externalId: 'standup-2026-11-20', status: 'completed' },
        },
      },
    },
  };
}

/** Zapier wants an id in each item. */
function withId(event) {
  return { id: event.deliveryId, ...event };
}
