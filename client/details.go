package client

import (
	"context"
	"net/http"
	"time"
)

// JobDetails is a job with its details.
type JobDetails struct {
	Job
	Title           *string    `json:"title"`
	DisplayName     string     `json:"displayName"`
	Webhooks        Webhooks   `json:"webhooks"` // an empty URL is the default one of the consumer
	Options         JobOptions `json:"options"`
	EndedAt         *time.Time `json:"endedAt"`
	DurationSeconds *float64   `json:"durationSeconds"` // of the recording with its gaps
	Participants    []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	} `json:"participants"` // the first 100
	Sources    []string        `json:"sources"` // how the bot was asked for: api, feed, google, intake, mail or microsoft
	Outcome    Outcome         `json:"outcome"`
	Recording  *RecordingLinks `json:"recording,omitempty"`  // nil without one
	Transcript *TranscriptLink `json:"transcript,omitempty"` // nil without one
	Resources  *Resources      `json:"resources,omitempty"`  // of all bots; nil before the end, and if they could not measure it
}

// Resources are what the bots of a job used of machines.
type Resources struct {
	CoreHours      float64  `json:"coreHours"`
	MemoryGiBHours float64  `json:"memoryGiBHours"`
	Price          *float64 `json:"price"` // nil if the service has no prices
}

// Outcome explains how a job stands or how it ended.
type Outcome struct {
	Title     string  `json:"title"`
	Text      string  `json:"text"`
	Cause     *string `json:"cause"`     // meeting, request or service; nil when nothing went wrong
	Action    *string `json:"action"`    // what to do next
	Stage     *string `json:"stage"`     // how far a job got that failed
	EndReason *string `json:"endReason"` // of the manifest
	DocURL    *string `json:"docUrl"`    // of the guide, about a failure
}

// RecordingLinks are where a recording is.
type RecordingLinks struct {
	ManifestURI string  `json:"manifestUri"`
	MediaURI    *string `json:"mediaUri"`
	Partial     bool    `json:"partial"`
	Bytes       int64   `json:"bytes"` // of its files
}

// TranscriptLink is where a transcript is.
type TranscriptLink struct {
	URI    string `json:"uri"`
	Source string `json:"source"`          // transcriber or captions
	Words  int    `json:"words,omitempty"` // of a transcriber
}

// JobOptions are all options of a job.
type JobOptions struct {
	Recording *Recording `json:"recording,omitempty"`
	Options
}

// JobDetails returns a job with its details.
func (c *Client) JobDetails(ctx context.Context, id string) (JobDetails, error) {
	return get[JobDetails](ctx, c, "jobs", id, "details")
}

// BatchResult is the result of one request of CreateJobs.
type BatchResult struct {
	Status   int    `json:"status"` // as of CreateJob; with 408 and 500 you can repeat the request
	Job      *Job   `json:"job"`    // nil after an error
	Replayed bool   `json:"replayed"`
	Warning  string `json:"warning"`
	Error    *Error `json:"error"`
}

// CreateJobs creates up to 100 jobs, one after the other. Each has a result, in the same
// order: an invalid one does not refuse the others.
func (c *Client) CreateJobs(ctx context.Context, jobs []NewJob) ([]BatchResult, error) {
	var answer struct {
		Results []BatchResult `json:"results"`
	}
	body := map[string][]NewJob{"jobs": jobs}
	_, err := c.call(ctx, request{method: http.MethodPost, path: apiPath("jobs", "batch"), body: body, idempotent: true}, &answer)
	return answer.Results, err
}
