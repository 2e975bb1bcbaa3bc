import type { Issue } from './generated/types.gen.js';

/** Base of all errors of this package. */
export class StandinError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The service could not be reached, or the connection was lost. */
export class ConnectionError extends StandinError {}

/** The service did not respond in time. */
export class TimeoutError extends ConnectionError {}

/** A response is not one of this API, for example the page of a proxy. */
export class UnexpectedResponseError extends StandinError {}

/** A downloaded file does not have the size and SHA-256 of the manifest. */
export class ChecksumError extends StandinError {}

/** A webhook was not signed with the secret, or was signed too long ago. */
export class WebhookSignatureError extends StandinError {}

/** A job did not end in time. */
export class WaitTimeoutError extends StandinError {}

/** An error response of the service. */
export class ApiError extends StandinError {
  constructor(
    /** The HTTP status code. */
    readonly status: number,
    /** Stable, in snake_case. Empty if the response is not from the API, for example from a proxy. */
    readonly code: string,
    message: string,
    /** All issues of an invalid request. */
    readonly issues: Issue[],
    /** Identifies the request in the log of the service. */
    readonly requestId: string,
    /** Milliseconds to wait before the next request, if the service told them. */
    readonly retryAfterMs: number | undefined,
  ) {
    super(message);
  }
}

/** 400: see `issues`. */
export class InvalidInputError extends ApiError {}

/** 401: the API key is missing, wrong or revoked. */
export class UnauthorizedError extends ApiError {}

/** 403: the scope of the API key does not include this operation. */
export class ForbiddenError extends ApiError {}

/** 404: it does not exist, or belongs to somebody else. */
export class NotFoundError extends ApiError {}

/** 409: not possible now. */
export class ConflictError extends ApiError {}

/** 409 with the code `invalid_state`: not possible in this state of the job. */
export class InvalidStateError extends ConflictError {}

/** 429: see `retryAfterMs`. */
export class RateLimitedError extends ApiError {}

/** 500 and above. */
export class ServerError extends ApiError {}

/** Returns the error of a response. */
export async function errorOf(response: Response): Promise<ApiError> {
  let body: { error?: unknown; message?: unknown; issues?: unknown } = {};
  try {
    body = (await response.json()) ?? {};
  } catch {
    // for example the page of a proxy
  }
  const status = response.status;
  const code = typeof body.error === 'string' ? body.error : '';
  const issues = Array.isArray(body.issues) ? (body.issues as Issue[]) : [];
  const requestId = response.headers.get('x-request-id') ?? '';
  let text = `the service responded with ${status} ${code}`.trimEnd();
  if (body.message) text += `: ${body.message}`;
  for (const issue of issues) text += `; ${issue.path?.join('.') || 'body'}: ${issue.message}`;
  if (status >= 500 && requestId) text += ` (request ${requestId})`;
  return new (classOf(status, code))(status, code, text, issues, requestId, retryAfterOf(response));
}

function classOf(status: number, code: string): typeof ApiError {
  switch (status) {
    case 400:
      return InvalidInputError;
    case 401:
      return UnauthorizedError;
    case 403:
      return ForbiddenError;
    case 404:
      return NotFoundError;
    case 409:
      return code === 'invalid_state' ? InvalidStateError : ConflictError;
    case 429:
      return RateLimitedError;
    default:
      return status >= 500 ? ServerError : ApiError;
  }
}

/** Returns the milliseconds of Retry-After, or until its date. */
function retryAfterOf(response: Response): number | undefined {
  const value = response.headers.get('retry-after') ?? '';
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(date - Date.now(), 0);
}
