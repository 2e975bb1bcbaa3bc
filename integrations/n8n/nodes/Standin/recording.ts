import type { INodeProperties } from 'n8n-workflow';

import { checkStatus, download, storeFile, wrapText } from './http';

const jobUrl = '=/jobs/{{ encodeURIComponent($parameter.jobId) }}';

export const recordingProperties: INodeProperties[] = [
	{
		displayName: 'Operation',
		name: 'operation',
		type: 'options',
		noDataExpression: true,
		displayOptions: { show: { resource: ['recording'] } },
		options: [
			{
				name: 'Download File',
				value: 'downloadFile',
				action: 'Download a file of a recording',
				description: 'Download a file of the manifest, or one that is made from the recording, such as recording.mp3',
				routing: {
					request: {
						method: 'GET',
						url: `${jobUrl}/media/{{ encodeURIComponent($parameter.fileName) }}`,
						encoding: 'stream',
						headers: { Accept: '*/*' },
					},
					send: { paginate: true },
					operations: { pagination: download },
					output: { postReceive: [storeFile] },
				},
			},
			{
				name: 'Get Manifest',
				value: 'getManifest',
				action: 'Get the manifest of a recording',
				description: 'Get the media files, the participants and when they spoke',
				routing: { request: { method: 'GET', url: `${jobUrl}/manifest` }, output: { postReceive: [checkStatus] } },
			},
		],
		default: 'getManifest',
	},
	{
		displayName: 'Operation',
		name: 'operation',
		type: 'options',
		noDataExpression: true,
		displayOptions: { show: { resource: ['transcript'] } },
		options: [
			{
				name: 'Get',
				value: 'get',
				action: 'Get a transcript',
				description: 'Get what was said: the transcript, or the captions if there is none',
				routing: {
					request: { method: 'GET', url: `${jobUrl}/transcript`, headers: { Accept: '*/*' } },
					output: { postReceive: [checkStatus, wrapText] },
				},
			},
		],
		default: 'get',
	},
	{
		displayName: 'Job ID',
		name: 'jobId',
		type: 'string',
		default: '',
		required: true,
		displayOptions: { show: { resource: ['recording', 'transcript'] } },
		description: 'The ID of the job that recorded the meeting',
	},
	{
		displayName: 'File Name',
		name: 'fileName',
		type: 'string',
		default: 'recording.mp4',
		required: true,
		displayOptions: { show: { resource: ['recording'], operation: ['downloadFile'] } },
		description: 'A file that the manifest lists, or recording.mp3, recording.wav, recording.webm or thumbnail.jpg',
	},
	{
		displayName: 'Put Output File in Field',
		name: 'binaryPropertyName',
		type: 'string',
		default: 'data',
		required: true,
		displayOptions: { show: { resource: ['recording'], operation: ['downloadFile'] } },
		hint: 'The name of the output binary field to put the file in',
	},
	{
		displayName: 'Format',
		name: 'format',
		type: 'options',
		options: [
			{ name: 'JSON', value: 'json', description: 'Segments with speakers and times' },
			{ name: 'Text', value: 'text', description: 'A line for each segment, with its time and speaker' },
			{ name: 'WebVTT', value: 'vtt', description: 'Subtitles' },
		],
		default: 'text',
		displayOptions: { show: { resource: ['transcript'] } },
		routing: { send: { type: 'query', property: 'format' } },
	},
];
