package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"standin/client"
	"standin/internal/base/retry"
)

// Pauses of calls that wait.
const (
	pollInterval     = 2 * time.Second
	progressInterval = 10 * time.Second // proxies and agents give up on calls that are silent for longer
)

type waitInput struct {
	JobID          string `json:"jobId" jsonschema:"ID of the job, from send_bot or list_jobs."`
	Until          string `json:"until" jsonschema:"joined: the bot is in the meeting. recording: it records. ended: the job has ended. transcript: the transcript, or else the captions, of an ended job can be read."`
	TimeoutSeconds int    `json:"timeoutSeconds,omitempty" jsonschema:"How long to wait. Many agents and proxies give up after 60 seconds."`
}

type waitResult struct {
	labeled
	Reached bool      `json:"reached" jsonschema:"Whether it has happened. If neither this nor job.ended is true, call the tool again."`
	Detail  string    `json:"detail,omitempty" jsonschema:"Why it has not happened."`
	Job     jobResult `json:"job"`
}

// waitFor waits for an event of a job, and reports its progress meanwhile.
func (s session) waitFor(ctx context.Context, in waitInput) (waitResult, error) {
	timeout := time.Duration(in.TimeoutSeconds) * time.Second
	waiting, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var result waitResult
	started, reported := time.Now(), time.Time{}
	err := poll(waiting, func() (bool, error) {
		j, err := s.api.Job(waiting, in.JobID)
		if err != nil {
			return false, err
		}
		now := waitResult{labeled: label(), Job: newJobResult(j)}
		switch in.Until {
		case "joined":
			now.Reached = reached(j.Status, "in_meeting")
		case "recording":
			now.Reached = reached(j.Status, "recording_started")
		case "ended":
			now.Reached = j.Ended()
		case "transcript":
			if j.ManifestURI == nil {
				break
			}
			text, err := s.api.TranscriptText(waiting, in.JobID, "text")
			if missing, ok := errors.AsType[*client.Error](err); ok && missing.Code == "not_found" {
				now.Detail = quote(missing.Message, maxText) // it can still come
				break
			}
			if err != nil {
				return false, err
			}
			text.Close()
			now.Reached = true
		default:
			return false, fmt.Errorf("until is %q", in.Until) // the schema excludes it
		}
		changed := now.Job.Status != result.Job.Status
		if result = now; now.Reached || now.Detail == "" && now.Job.Ended {
			return true, nil
		}
		if changed || time.Since(reported) >= progressInterval {
			reported = time.Now()
			if token := s.request.Params.GetProgressToken(); token != nil {
				_ = s.request.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ // the agent may be gone, which ends ctx
					ProgressToken: token, Progress: time.Since(started).Seconds(), Total: timeout.Seconds(),
					Message: "The job is " + now.Job.Status + ".",
				})
			}
		}
		return false, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil && result.Job.JobID != "" {
		err = nil
	}
	return result, err
}

// stages are the states of a successful job in their order.
var stages = map[string]int{
	"in_meeting": 1, "permission_requested": 1, "recording_started": 2, "recording_paused": 2, "recording_stopped": 2,
	"finalizing": 3, "post_processing": 3, "media_uploading": 3, "completed": 3,
}

// reached reports whether a job in a state has been in the awaited one, or has passed it.
func reached(status, awaited string) bool { return stages[status] >= stages[awaited] }

// poll calls done at intervals until it returns true, an error that may not go away, or
// ctx ends.
func poll(ctx context.Context, done func() (bool, error)) error {
	for {
		pause := pollInterval
		finished, err := done()
		switch refused, ok := errors.AsType[*client.Error](err); {
		case finished:
			return nil
		case ok && refused.Code == "rate_limited":
			pause = max(pause, refused.RetryAfter)
		case err != nil:
			return err
		}
		if err := retry.Sleep(ctx, pause); err != nil {
			return err
		}
	}
}
