import {
	NodeConnectionTypes,
	NodeOperationError,
	type IDataObject,
	type IHookFunctions,
	type IHttpRequestMethods,
	type IN8nHttpFullResponse,
	type INodeType,
	type INodeTypeDescription,
	type IWebhookFunctions,
	type IWebhookResponseData,
} from 'n8n-workflow';

import { apiError } from '../Standin/http';
import { verifySignature } from './signature';

type Credential = { baseUrl: string; apiKey: string; webhookSecret?: string };

type Endpoint = { id: string; url: string; registered: boolean; enabled: boolean; events: string[] };

/** How many deliveries are remembered to ignore repetitions. */
const rememberedDeliveries = 1000;

export class StandinTrigger implements INodeType {
	description: INodeTypeDescription = {
		displayName: 'Standin Trigger',
		name: 'standinTrigger',
		icon: { light: 'file:../../icons/standin.svg', dark: 'file:../../icons/standin.dark.svg' },
		group: ['trigger'],
		version: 1,
		subtitle: '={{$parameter["events"].join(", ")}}',
		description: 'Starts the workflow when something happens to a bot, in its meeting or to its recording',
		defaults: { name: 'Standin Trigger' },
		inputs: [],
		outputs: [NodeConnectionTypes.Main],
		credentials: [{ name: 'standinApi', required: true }],
		webhooks: [{ name: 'default', httpMethod: 'POST', responseMode: 'onReceived', path: 'webhook' }],
		properties: [
			{
				displayName: 'The credential needs the webhook secret of your team, with which the events are verified.',
				name: 'notice',
				type: 'notice',
				default: '',
			},
			{
				displayName: 'Events',
				name: 'events',
				type: 'multiOptions',
				required: true,
				default: ['job.finalized'],
				description: 'The events that start the workflow. A meeting can cause many participant, chat and live transcript events.',
				options: [
					{ name: 'All Events', value: '*' },
					{ name: 'Bot: Command Outcome', value: 'bot.command_outcome', description: 'A command was executed or has failed' },
					{ name: 'Bot: Competing Bot Detected', value: 'bot.competing_bot_detected', description: 'Another notetaker is there' },
					{ name: 'Bot: Output', value: 'bot.output', description: 'What a bot plays has started, finished or failed' },
					{ name: 'Bot: Recording Permission Response', value: 'bot.recording_permission_response' },
					{ name: 'Bot: Stream Changed', value: 'bot.stream_changed', description: 'A stream of live sound was connected or lost' },
					{ name: 'Calendar: Event Cancelled', value: 'calendar.event_cancelled' },
					{ name: 'Calendar: Event Scheduled', value: 'calendar.event_scheduled' },
					{ name: 'Calendar: Event Updated', value: 'calendar.event_updated' },
					{ name: 'Calendar: State Changed', value: 'calendar.state_changed', description: 'A calendar can or cannot be read' },
					{ name: 'Chat: Message', value: 'chat.message' },
					{ name: 'Job: Failed', value: 'job.failed' },
					{ name: 'Job: Finalized', value: 'job.finalized', description: 'The recording is ready' },
					{ name: 'Job: Status Changed', value: 'job.status_changed' },
					{ name: 'Job: Transcript Ready', value: 'job.transcript_ready' },
					{ name: 'Job: Video Ready', value: 'job.video_ready', description: 'The videos of participants were composed' },
					{ name: 'Participant: Joined', value: 'participant.joined' },
					{ name: 'Participant: Left', value: 'participant.left' },
					{ name: 'Participant: Speaking', value: 'participant.speaking', description: 'Somebody started or stopped speaking' },
					{ name: 'Transcript: Data', value: 'transcript.data', description: 'Somebody has said something, of a live transcript' },
				],
			},
		],
	};

	webhookMethods = {
		default: {
			/** An endpoint with other events is deleted, so that create registers it again. */
			async checkExists(this: IHookFunctions): Promise<boolean> {
				const { webhookSecret } = await this.getCredentials<Credential>('standinApi');
				if (!webhookSecret) {
					throw new NodeOperationError(this.getNode(), 'The credential has no webhook secret.', {
						description: 'Run "standin teams show NAME --secret" and enter the secret in the credential.',
					});
				}
				const endpoint = await findEndpoint.call(this);
				if (!endpoint) return false;
				const events = [...(this.getNodeParameter('events') as string[])].sort();
				if (endpoint.enabled && endpoint.events.join() === events.join()) return true;
				await request.call(this, 'DELETE', `/webhook-endpoints/${endpoint.id}`);
				return false;
			},

			async create(this: IHookFunctions): Promise<boolean> {
				await request.call(this, 'POST', '/webhook-endpoints', {
					url: this.getNodeWebhookUrl('default'),
					events: this.getNodeParameter('events'),
					description: 'n8n',
				});
				return true;
			},

			async delete(this: IHookFunctions): Promise<boolean> {
				const endpoint = await findEndpoint.call(this);
				if (endpoint) await request.call(this, 'DELETE', `/webhook-endpoints/${endpoint.id}`);
				return true;
			},
		},
	};

	/** Starts the workflow with an event, once, if the team's secret has signed it. */
	async webhook(this: IWebhookFunctions): Promise<IWebhookResponseData> {
		const { headers, rawBody } = this.getRequestObject();
		const { webhookSecret } = await this.getCredentials<Credential>('standinApi');
		if (!webhookSecret || !rawBody || !verifySignature(webhookSecret, headers, rawBody)) {
			this.getResponseObject().status(401).json({ error: 'unauthorized', message: 'Invalid webhook signature.' });
			return { noWebhookResponse: true };
		}
		const event = this.getBodyData();
		const state = this.getWorkflowStaticData('node');
		const seen = (state.deliveries as string[] | undefined) ?? [];
		const delivery = event.deliveryId as string;
		if (seen.includes(delivery)) return { webhookResponse: 'Received before' };
		state.deliveries = [...seen, delivery].slice(-rememberedDeliveries);
		return { workflowData: [this.helpers.returnJsonArray(event)] };
	}
}

/** Finds the registered endpoint of this webhook. */
async function findEndpoint(this: IHookFunctions): Promise<Endpoint | undefined> {
	const url = this.getNodeWebhookUrl('default');
	let cursor: string | null | undefined;
	do {
		const page = await request.call(this, 'GET', '/webhook-endpoints', undefined, { limit: 100, cursor });
		const endpoint = (page.endpoints as Endpoint[]).find((candidate) => candidate.registered && candidate.url === url);
		if (endpoint) return endpoint;
		cursor = page.nextCursor as string | null;
	} while (cursor);
	return undefined;
}

async function request(
	this: IHookFunctions,
	method: IHttpRequestMethods,
	path: string,
	body?: IDataObject,
	qs?: IDataObject,
): Promise<IDataObject> {
	const { baseUrl } = await this.getCredentials<Credential>('standinApi');
	const response = (await this.helpers.httpRequestWithAuthentication.call(this, 'standinApi', {
		method,
		baseURL: `${baseUrl.replace(/\/+$/, '')}/api/v1`,
		url: path,
		body,
		qs,
		json: true,
		ignoreHttpStatusErrors: true,
		returnFullResponse: true,
	})) as IN8nHttpFullResponse;
	if (response.statusCode >= 400) throw apiError(this.getNode(), response.statusCode, response.body);
	return response.body as IDataObject;
}
