import { NodeConnectionTypes, type INodeType, type INodeTypeDescription } from 'n8n-workflow';

import { botProperties } from './bot';
import { requestDefaults } from './http';
import { recordingProperties } from './recording';

export class Standin implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Standin',
		name: 'standin',
		icon: { light: 'file:../../icons/standin.svg', dark: 'file:../../icons/standin.dark.svg' },
		group: ['transform'],
		version: 1,
		subtitle: '={{$parameter["operation"] + ": " + $parameter["resource"]}}',
		description: 'Send a recording bot into a meeting, and get its recording and transcript',
		defaults: { name: 'Standin' },
		usableAsTool: true,
		inputs: [NodeConnectionTypes.Main],
		outputs: [NodeConnectionTypes.Main],
		credentials: [{ name: 'standinApi', required: true }],
		requestDefaults,
		properties: [
			{
				displayName: 'Resource',
				name: 'resource',
				type: 'options',
				noDataExpression: true,
				options: [
					{ name: 'Bot', value: 'bot' },
					{ name: 'Recording', value: 'recording' },
					{ name: 'Transcript', value: 'transcript' },
				],
				default: 'bot',
			},
			...botProperties,
			...recordingProperties,
		],
	};
}
