import type { IAuthenticateGeneric, ICredentialTestRequest, ICredentialType, Icon, INodeProperties } from 'n8n-workflow';

export class StandinApi implements ICredentialType {
	name = 'standinApi';

	displayName = 'Standin API';

	icon: Icon = { light: 'file:../icons/standin.svg', dark: 'file:../icons/standin.dark.svg' };

	documentationUrl = 'https://standin.example/docs/api';

	properties: INodeProperties[] = [
		{
			displayName: 'Base URL',
			name: 'baseUrl',
			type: 'string',
			default: '',
			placeholder: 'https://standin.example.com',
			description: 'The address of your Standin service',
			required: true,
		},
		{
			displayName: 'API Key',
			name: 'apiKey',
			type: 'string',
			typeOptions: { password: true },
			default: '',
			description:
				'A key with the scope jobs, or admin for the Standin Trigger. Create one with <code>standin keys create</code>. ' +
				'The bots of a test key join simulated meetings.',
			required: true,
		},
		{
			displayName: 'Webhook Secret',
			name: 'webhookSecret',
			type: 'string',
			typeOptions: { password: true },
			default: '',
			description:
				'The webhook secret of your team (whsec_…), which the Standin Trigger needs. ' +
				'<code>standin teams show NAME --secret</code> prints it.',
		},
	];

	authenticate: IAuthenticateGeneric = {
		type: 'generic',
		properties: { headers: { Authorization: '=Bearer {{$credentials.apiKey}}' } },
	};

	test: ICredentialTestRequest = {
		request: { baseURL: '={{$credentials.baseUrl.replace(/\\/+$/, "")}}', url: '/api/v1/me' },
	};
}
