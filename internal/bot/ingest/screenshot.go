package ingest

// ScreenshotPath is the path of the operation that takes a picture of a bot's meeting
// page: + /{jobId}/{attempt}.
const ScreenshotPath = "/api/v1/ingest/screenshot"

// MaxScreenshot is the maximum size of such a picture, in bytes. api/openapi.yaml repeats it.
const MaxScreenshot = 100_000
