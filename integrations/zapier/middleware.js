import { createHash, randomUUID } from 'node:crypto';

/** Completes a request, whose URL is a path of the service, with the service's address and the API key. */
export function addCredentials(request, z, bundle) {
  const { baseUrl, apiKey } = bundle.authData;
  const headers = { ...request.headers, Authorization: `Bearer ${apiKey}` };
  if (request.method === 'POST') {
    // Zapier does not tell a step which run it belongs to. Without a Run ID, each request is executed.
    const run = bundle.inputData.runId || randomUUID();
    headers['Idempotency-Key'] = createHash('sha256').update(JSON.stringify([request.url, request.body, run])).digest('hex');
  }
  return { ...request, url: baseUrl.replace(/\/+$/, '') + request.url, headers };
}

/** Throws an error with the service's own message if the request was refused. */
export function checkStatus(response, z) {
  if (response.status < 400) return response;
  const { error, message, issues = [] } = response.data ?? {};
  const lines = [message ?? `The service responded with status ${response.status}.`];
  if (issues.length > 1) lines.push(...issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`)); // the message has the first
  const text = lines.join('\n');

  if (response.status === 401) throw new z.errors.ExpiredAuthError(text);
  const retryAfter = Number(response.getHeader('retry-after'));
  if (retryAfter > 0) throw new z.errors.ThrottledError(text, retryAfter);
  throw new z.errors.Error(text, error, response.status);
}
