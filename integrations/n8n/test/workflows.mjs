// Writes the workflows and the credential of the test into the folder in TMP, as n8n imports them.
import { readFileSync, writeFileSync } from 'node:fs';

const { TMP, STANDIN_URL } = process.env;
const read = (name) => readFileSync(`${TMP}/${name}`, 'utf8').trim();
const credentials = { standinApi: { id: 'standin', name: 'Standin' } };

/** Makes a workflow of nodes that run one after the other. Errors of nodes named "Refused" are their output. */
function workflow(id, nodes) {
	return {
		id,
		name: id,
		active: false,
		settings: { executionOrder: 'v1' },
		nodes: nodes.map(([name, type, parameters], at) => ({
			id: `${id}-${at}`,
			name,
			type,
			parameters,
			typeVersion: 1,
			position: [at * 200, 0],
			...(type.startsWith('n8n-nodes-standin') && { credentials }),
			...(type.endsWith('Trigger') && { webhookId: id }),
			...(name.startsWith('Refused') && { onError: 'continueRegularOutput' }),
		})),
		connections: Object.fromEntries(
			nodes.slice(1).map(([name], at) => [nodes[at][0], { main: [[{ node: name, type: 'main', index: 0 }]] }]),
		),
	};
}

const standin = (name, resource, operation, parameters) => [name, 'n8n-nodes-standin.standin', { resource, operation, ...parameters }];
const wait = (name, amount) => [name, 'n8n-nodes-base.wait', { amount, unit: 'seconds' }];
const meetingUrl = 'https://meet.google.com/abc-defg-hij';
const jobId = "={{ $('Send').first().json.id }}";

const record = workflow('record', [
	['Start', 'n8n-nodes-base.manualTrigger', {}],
	standin('Send', 'bot', 'send', {
		meetingUrl,
		externalId: 'record',
		additionalFields: {
			allowSpeaking: true,
			captions: true,
			chat: true,
			displayName: 'Notes for Zoë',
			metadata: '{"customer": "Zoë"}',
			moreOptions: '{"recording": {"layout": "gallery"}, "simulate": {"outcome": "slow_meeting", "seconds": 120, "speed": 10}}',
			recordingMode: 'video',
			transcript: true,
		},
	}),
	wait('Wait for the Bot', 4),
	standin('Speak', 'bot', 'speak', { jobId, text: 'I take notes for Zoë.', additionalFields: { language: 'en' } }),
	standin('Chat', 'bot', 'sendChatMessage', { jobId, text: 'Hello' }),
	standin('Leave', 'bot', 'leave', { jobId }),
	wait('Wait for the Recording', 8),
	standin('Get', 'bot', 'get', { jobId }),
	standin('Manifest', 'recording', 'getManifest', { jobId }),
	standin('Transcript Text', 'transcript', 'get', { jobId, format: 'text' }),
	standin('Transcript WebVTT', 'transcript', 'get', { jobId, format: 'vtt' }),
	standin('Transcript JSON', 'transcript', 'get', { jobId, format: 'json' }),
	standin('Download', 'recording', 'downloadFile', { jobId, fileName: 'recording.mp4', binaryPropertyName: 'video' }),
	standin('Download MP3', 'recording', 'downloadFile', { jobId, fileName: 'recording.mp3', binaryPropertyName: 'audio' }),
	standin('Refused File', 'recording', 'downloadFile', { jobId, fileName: 'nothing.mp4', binaryPropertyName: 'data' }),
	standin('Refused Job', 'bot', 'get', { jobId: '0192f5c8-5c1e-7a30-9a4f-3f1d2b6c7e80' }),
	standin('Refused Options', 'bot', 'send', {
		meetingUrl,
		externalId: 'refused',
		additionalFields: { moreOptions: '{"autoLeave": {"afterMaxSeconds": 1000000}}' },
	}),
	standin('Refused JSON', 'bot', 'send', { meetingUrl, externalId: 'refused', additionalFields: { metadata: '{' } }),
]);

// Three jobs that are cancelled before they begin, and pages of them.
const later = workflow('later', [
	['Start', 'n8n-nodes-base.manualTrigger', {}],
	['Days', 'n8n-nodes-base.code', { language: 'javaScript', jsCode: 'return [1, 2, 3].map((day) => ({ json: { day } }));' }],
	standin('Send', 'bot', 'send', {
		meetingUrl,
		externalId: '=later-{{ $json.day }}',
		additionalFields: { joinAt: '={{ $now.plus({ days: $json.day }) }}' },
	}),
	standin('Cancel', 'bot', 'cancel', { jobId: '={{ $json.id }}' }),
	['One', 'n8n-nodes-base.limit', { maxItems: 1 }],
	standin('Local Time', 'bot', 'send', { meetingUrl, externalId: 'local', additionalFields: { joinAt: '2099-07-01T10:00:00' } }),
	standin('All', 'bot', 'getAll', { returnAll: true, filters: { status: ['cancelled', 'failed'] } }),
	['One of Them', 'n8n-nodes-base.limit', { maxItems: 1 }],
	standin('Two', 'bot', 'getAll', { returnAll: false, limit: 2, filters: {} }),
]);
later.settings.timezone = 'Europe/Berlin';

// Stores what it has received in the metadata of a job that never begins.
const trigger = workflow('trigger', [
	['Finalized', 'n8n-nodes-standin.standinTrigger', { events: ['job.finalized', 'job.failed'] }],
	standin('Transcript', 'transcript', 'get', { jobId: '={{ $json.data.jobId }}', format: 'text' }),
	standin('Send', 'bot', 'send', {
		meetingUrl,
		externalId: "={{ 'received-' + $execution.id }}",
		additionalFields: {
			joinAt: '={{ $now.plus({ days: 1 }) }}',
			metadata: "={{ { event: $('Finalized').first().json.event, transcript: $json.transcript } }}",
		},
	}),
]);

writeFileSync(`${TMP}/workflows.json`, JSON.stringify([record, later, trigger]));
const data = { baseUrl: `${STANDIN_URL}/`, apiKey: read('key'), webhookSecret: read('secret') };
writeFileSync(`${TMP}/credentials.json`, JSON.stringify([{ ...credentials.standinApi, type: 'standinApi', data }]), { mode: 0o600 });
