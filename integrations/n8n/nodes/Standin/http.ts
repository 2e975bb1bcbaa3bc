import { createHash } from 'crypto';
import {
	NodeApiError,
	NodeOperationError,
	jsonParse,
	sleep,
	type DeclarativeRestApiSettings,
	type IDataObject,
	type IExecutePaginationFunctions,
	type IExecuteSingleFunctions,
	type IHttpRequestOptions,
	type IN8nHttpFullResponse,
	type INode,
	type INodeExecutionData,
	type JsonObject,
} from 'n8n-workflow';

/** The body of an error of the service. */
type ErrorBody = { error?: string; message?: string; issues?: Array<{ path: Array<string | number>; message: string }> };

/** What both nodes send with each request. Errors are read from the response, so that they show the service's own message. */
export const requestDefaults = {
	baseURL: '={{$credentials.baseUrl.replace(/\\/+$/, "")}}/api/v1',
	headers: { Accept: 'application/json' },
	ignoreHttpStatusErrors: true,
	sendCredentialsOnCrossOriginRedirect: false,
} satisfies DeclarativeRestApiSettings.HttpRequestOptions;

/** Returns an error with the service's message, and its issues with single fields as the description. */
export function apiError(node: INode, statusCode: number, body: unknown): NodeApiError {
	const error = (typeof body === 'object' && body !== null ? body : {}) as ErrorBody;
	return new NodeApiError(node, error as JsonObject, {
		httpCode: String(statusCode),
		message: error.message ?? `The service responded with status ${statusCode}.`,
		description: error.issues?.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('\n'),
	});
}

/** Passes the items of a successful response on. */
export async function checkStatus(
	this: IExecuteSingleFunctions,
	items: INodeExecutionData[],
	response: IN8nHttpFullResponse,
): Promise<INodeExecutionData[]> {
	if (response.statusCode < 400) return items;
	throw apiError(this.getNode(), response.statusCode, response.body);
}

/** Adds a key with which the service executes the request once, also if n8n retries the node. */
export async function idempotent(this: IExecuteSingleFunctions, request: IHttpRequestOptions): Promise<IHttpRequestOptions> {
	const run = this.evaluateExpression('{{ $runIndex }}', this.getItemIndex());
	const parts = [this.getInstanceId(), this.getExecutionId(), this.getNode().id, run, this.getItemIndex()];
	const key = createHash('sha256').update(parts.join('\n')).digest('hex');
	return { ...request, headers: { ...request.headers, 'Idempotency-Key': key } };
}

/** Adds the metadata and the options that have no field of their own, which are entered as JSON. */
export async function addJsonFields(this: IExecuteSingleFunctions, request: IHttpRequestOptions): Promise<IHttpRequestOptions> {
	const fields = this.getNodeParameter('additionalFields', {}) as { metadata?: unknown; moreOptions?: unknown };
	const body = request.body as IDataObject;
	if (fields.metadata) body.metadata = parseObject(this, 'Metadata', fields.metadata);
	const more = fields.moreOptions ? parseObject(this, 'More Options', fields.moreOptions) : {};
	for (const [name, value] of Object.entries(more)) {
		const both = isObject(body[name]) && isObject(value);
		body[name] = both ? { ...(body[name] as IDataObject), ...(value as IDataObject) } : value;
	}
	return request;
}

function isObject(value: unknown): value is IDataObject {
	return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parseObject(context: IExecuteSingleFunctions, name: string, value: unknown): IDataObject {
	const parsed = typeof value === 'string' ? jsonParse<unknown>(value, { fallbackValue: null }) : value;
	if (isObject(parsed)) return parsed;
	throw new NodeOperationError(context.getNode(), `${name} is not a JSON object.`, { itemIndex: context.getItemIndex() });
}

/** Reads pages of jobs until there are no more, or the limit is reached. */
export async function readPages(
	this: IExecutePaginationFunctions,
	request: DeclarativeRestApiSettings.ResultOptions,
): Promise<INodeExecutionData[]> {
	const limit = this.getNodeParameter('returnAll') ? Infinity : (this.getNodeParameter('limit') as number);
	const jobs: INodeExecutionData[] = [];
	const query = request.options.qs;
	let cursor: string | null | undefined;
	do {
		request.options.qs = { ...query, limit: Math.min(100, limit - jobs.length), cursor };
		const [page] = await this.makeRoutingRequest(request);
		jobs.push(...(page.json.jobs as IDataObject[]).map((json) => ({ json })));
		cursor = page.json.nextCursor as string | null;
	} while (cursor && jobs.length < limit);
	return jobs;
}

/** Downloads a file. The service makes some files, such as recording.mp3, when they are first requested. */
export async function download(
	this: IExecutePaginationFunctions,
	request: DeclarativeRestApiSettings.ResultOptions,
): Promise<INodeExecutionData[]> {
	for (let tries = 0; tries < 120; tries++) {
		const items = await this.makeRoutingRequest(request);
		if (items.length > 0) return items;
		await sleep(5000);
	}
	throw new NodeOperationError(this.getNode(), 'The service is still making the file. Try again later.');
}

/** Stores the downloaded file. Returns nothing while the service makes it. */
export async function storeFile(
	this: IExecuteSingleFunctions,
	_items: INodeExecutionData[],
	response: IN8nHttpFullResponse,
): Promise<INodeExecutionData[]> {
	const stream = response.body as Parameters<typeof this.helpers.binaryToBuffer>[0];
	if (response.statusCode === 202) return [];
	if (response.statusCode >= 400) {
		const body = (await this.helpers.binaryToBuffer(stream)).toString();
		throw apiError(this.getNode(), response.statusCode, jsonParse<unknown>(body, { fallbackValue: null }));
	}
	const fileName = this.getNodeParameter('fileName') as string;
	const property = this.getNodeParameter('binaryPropertyName') as string;
	const binary = await this.helpers.prepareBinaryData(stream, fileName, response.headers['content-type'] as string);
	return [{ json: { jobId: this.getNodeParameter('jobId') as string, fileName }, binary: { [property]: binary } }];
}

/** Makes an item of a transcript in WebVTT or plain text. */
export async function wrapText(this: IExecuteSingleFunctions, items: INodeExecutionData[]): Promise<INodeExecutionData[]> {
	return items.map(({ json }) => ({ json: typeof json === 'string' ? { transcript: json } : json }));
}
