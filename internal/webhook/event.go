package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"

	"standin/internal/job"
)

// The outbound events (specification, Outbound webhooks).
const (
	JobStatusChanged      = "job.status_changed"
	JobFinalized          = "job.finalized"
	JobFailed             = "job.failed"
	BotPermissionResponse = "bot.recording_permission_response"
	BotCompetingDetected  = "bot.competing_bot_detected"
)

// Event is something to tell a job's receivers. It is composed in the shape of
// payload version 2; Body makes a version 1 payload of it where one is wanted.
type Event struct {
	Name   string
	fields map[string]any
}

// newEvent adds what every event carries to its own fields.
func newEvent(name string, j job.Job, fields map[string]any) Event {
	fields["event"] = name
	fields["jobId"] = j.ID
	fields["job"] = job.NewView(j)
	return Event{Name: name, fields: fields}
}

// StatusChanged tells of one transition; j is the job after it. The failure
// fields are filled on the way into failed and null otherwise.
func StatusChanged(j job.Job, from, to job.Status) Event {
	fields := map[string]any{
		"from":           from,
		"to":             to,
		"failure_code":   nil,
		"failure_detail": nil,
		"failure_reason": nil, // what version 1 calls failure_detail
	}
	if to == job.Failed {
		fields["failure_code"] = j.FailureCode
		fields["failure_detail"] = j.FailureText()
		fields["failure_reason"] = j.FailureText()
	}
	return newEvent(JobStatusChanged, j, fields)
}

// Finalized tells that the manifest of a successful job is written.
func Finalized(j job.Job) Event {
	return newEvent(JobFinalized, j, map[string]any{"manifestUri": j.ManifestURI})
}

// Failed tells that a job has failed.
func Failed(j job.Job) Event {
	return newEvent(JobFailed, j, map[string]any{
		"status":         job.Failed,
		"failure_code":   j.FailureCode,
		"failure_detail": j.FailureText(),
		"failure_reason": j.FailureText(), // the names of version 1
		"error":          j.FailureText(),
	})
}

// PermissionResponse tells what the host answered to a request to record.
// detail may be empty; a host who never answered has not granted it.
func PermissionResponse(j job.Job, granted bool, detail string) Event {
	fields := map[string]any{"granted": granted}
	if detail != "" {
		fields["detail"] = detail
	}
	return newEvent(BotPermissionResponse, j, fields)
}

// CompetingBot tells that another notetaker is in the meeting, and whether
// ours left because of it.
func CompetingBot(j job.Job, name string, left bool) Event {
	return newEvent(BotCompetingDetected, j, map[string]any{
		"detectedBotName": name,
		"leftMeeting":     left,
	})
}

// Data returns the event's data object. sequence is the job's next number:
// each event of a job takes one, so that a receiver can tell order and gaps
// (contract, Webhooks). It fails only if the job's metadata is no JSON.
func (e Event) Data(sequence int64) (json.RawMessage, error) {
	fields := maps.Clone(e.fields)
	fields["sequence"] = sequence
	data, err := encode(fields)
	if err != nil {
		return nil, fmt.Errorf("compose %s: %w", e.Name, err)
	}
	return data, nil
}

// Targets returns the addresses an event of the job is posted to, each once.
// A job that names no address at all uses the consumer's default endpoint,
// which may be empty (contract, Webhooks).
func Targets(j job.Job, defaultEndpoint, event string) []string {
	hooks := j.Webhooks
	if hooks == (job.Webhooks{}) {
		hooks = job.Webhooks{OnStatusChange: defaultEndpoint, OnFinalize: defaultEndpoint}
	}
	var named []string
	switch event {
	case JobStatusChanged, BotPermissionResponse, BotCompetingDetected:
		named = []string{hooks.OnStatusChange}
	case JobFinalized:
		named = []string{hooks.OnFinalize}
	case JobFailed:
		named = []string{hooks.OnStatusChange, hooks.OnFinalize}
	}
	var targets []string
	for i, url := range named {
		if url != "" && (i == 0 || url != named[0]) {
			targets = append(targets, url)
		}
	}
	return targets
}

// encode is json.Marshal without the escapes meant for HTML, which would make
// every & of a meeting address unreadable.
func encode(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buffer.Bytes(), []byte("\n")), nil
}
