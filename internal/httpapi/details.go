package httpapi

import (
	"fmt"
	"net/http"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/outcome"
)

// detailedJob is the JobDetails schema of api/openapi.yaml.
type detailedJob struct {
	job.View
	Title           *string           `json:"title"`
	DisplayName     string            `json:"displayName"`
	Webhooks        webhooksBody      `json:"webhooks"`
	Options         job.Options       `json:"options"`
	EndedAt         *job.Timestamp    `json:"endedAt"`
	DurationSeconds *float64          `json:"durationSeconds"`
	Participants    []job.Participant `json:"participants"`
	Sources         []string          `json:"sources"`
	Outcome         outcomeBody       `json:"outcome"`
	Recording       *recordingBody    `json:"recording,omitempty"`
	Transcript      *transcriptBody   `json:"transcript,omitempty"`
}

// webhooksBody has the webhook URLs of a job.
type webhooksBody struct {
	OnStatusChange *string `json:"onStatusChange"`
	OnFinalize     *string `json:"onFinalize"`
}

func newWebhooksBody(w job.Webhooks) webhooksBody {
	return webhooksBody{nullText(w.OnStatusChange), nullText(w.OnFinalize)}
}

// outcomeBody is the Outcome schema of api/openapi.yaml.
type outcomeBody struct {
	Title     string  `json:"title"`
	Text      string  `json:"text"`
	Cause     *string `json:"cause"`
	Action    *string `json:"action"`
	Stage     *string `json:"stage"`
	EndReason *string `json:"endReason"`
	DocURL    *string `json:"docUrl"`
}

// runbook returns the section of the guide about a failure; "" for a job that did not fail.
func runbook(code job.FailureCode) string {
	if code == "" {
		return ""
	}
	return "/docs/guide/runbook.html#" + string(code)
}

// recordingBody has the links of a recording.
type recordingBody struct {
	ManifestURI string  `json:"manifestUri"`
	MediaURI    *string `json:"mediaUri"`
	Partial     bool    `json:"partial"`
}

// transcriptBody has the link of a transcript.
type transcriptBody struct {
	URI    string `json:"uri"`
	Source string `json:"source"`
}

// causes are the sides of failures as the API names them.
var causes = map[outcome.Side]string{outcome.MeetingSide: "meeting", outcome.YourSide: "request", outcome.OurSide: "service"}

func newDetailedJob(j job.Job, d lifecycle.Details) detailedJob {
	explained := outcome.Explain(j, d.FailedIn, d.EndReason, d.Partial)
	body := detailedJob{
		View: job.NewView(j), Title: nullText(j.Title()), DisplayName: j.DisplayName, Webhooks: newWebhooksBody(j.Webhooks),
		Options: j.Resolved(), EndedAt: job.NullTimestamp(d.EndedAt), Participants: append([]job.Participant{}, d.Participants...), Sources: append([]string{}, d.Sources...),
		Outcome: outcomeBody{
			Title: explained.Title, Text: explained.Text, Cause: nullText(causes[explained.Side]), Action: nullText(explained.Action),
			Stage: nullText(explained.Stage), EndReason: nullText(d.EndReason), DocURL: nullText(runbook(j.FailureCode)),
		},
	}
	if d.DurationMs > 0 {
		seconds := float64(d.DurationMs) / 1000
		body.DurationSeconds = &seconds
	}
	if j.ManifestURI != "" && !d.Deleted {
		body.Recording = &recordingBody{ManifestURI: j.ManifestURI, MediaURI: nullText(d.MediaURI), Partial: d.Partial}
	}
	if d.TranscriptURI != "" {
		body.Transcript = &transcriptBody{URI: d.TranscriptURI, Source: "captions"}
		if d.Transcript {
			body.Transcript.Source = "transcriber"
		}
	}
	return body
}

func (a *API) getJobDetails(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	j, err := a.namedJob(r, caller)
	if err != nil {
		return err
	}
	details, err := a.settings.Jobs.Details(r.Context(), []job.Job{j})
	if err != nil {
		return fmt.Errorf("read the details of a job: %w", err)
	}
	a.writeJSON(w, http.StatusOK, newDetailedJob(j, details[j.ID]))
	return nil
}
