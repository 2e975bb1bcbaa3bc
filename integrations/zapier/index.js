import { version as platformVersion } from 'zapier-platform-core';

import authentication from './authentication.js';
import * as creates from './creates.js';
import { addCredentials, checkStatus } from './middleware.js';
import packageJson from './package.json' with { type: 'json' };
import * as searches from './searches.js';
import * as triggers from './triggers.js';

const byKey = (operations) => Object.fromEntries(Object.values(operations).map((operation) => [operation.key, operation]));

export default {
  version: packageJson.version,
  platformVersion,
  authentication,
  beforeRequest: [addCredentials],
  afterResponse: [checkStatus],
  flags: { throwForThrottlingEarly: false }, // checkStatus shows the message of the service
  triggers: byKey(triggers),
  creates: byKey(creates),
  searches: byKey(searches),
};
