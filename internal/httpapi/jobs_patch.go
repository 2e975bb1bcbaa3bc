package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/lifecycle"
)

// patchRequest is the JobPatch schema of api/openapi.yaml. A nil field
// does not change. An empty webhook URL, null in JSON, removes the URL.
type patchRequest struct {
	JoinAt      *time.Time       `json:"joinAt"`
	DisplayName *string          `json:"displayName"`
	Metadata    json.RawMessage  `json:"metadata"`
	AutoLeave   autoLeavePatch   `json:"autoLeave"`
	Webhooks    jobWebhooksPatch `json:"webhooks"`
	Title       nullableText     `json:"title"`
	job.Options
}

type autoLeavePatch struct {
	AfterEntryDelaySeconds *int  `json:"afterEntryDelaySeconds"`
	AfterSilenceSeconds    *int  `json:"afterSilenceSeconds"`
	AfterSoloSeconds       *int  `json:"afterSoloSeconds"`
	AfterMaxSeconds        *int  `json:"afterMaxSeconds"`
	OnBotDetected          *bool `json:"onBotDetected"`
}

type jobWebhooksPatch struct {
	OnStatusChange nullableText `json:"onStatusChange"`
	OnFinalize     nullableText `json:"onFinalize"`
}

// nullableText is a text that a patch can set and remove. Its zero value leaves the
// text as it is.
type nullableText struct {
	text *string // the empty string removes the text
}

// UnmarshalJSON decodes a string, or null as the empty string.
func (n *nullableText) UnmarshalJSON(encoded []byte) error {
	n.text = new(string)
	return json.Unmarshal(encoded, n.text)
}

func (a *API) patchJob(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	var request patchRequest
	if err := a.readRequest(w, r, "patchJob", &request); err != nil {
		return err
	}
	if err := checkMore(caller, request.Metadata, request.Options); err != nil {
		return err
	}
	if request.Title.text != nil {
		*request.Title.text = title(*request.Title.text)
	}
	if request.JoinAt != nil && isUnset(*request.JoinAt) {
		request.JoinAt = nil
	}
	if request.DisplayName != nil {
		*request.DisplayName = displayName(*request.DisplayName)
	}
	j, err := a.settings.Jobs.Patch(r.Context(), caller, id, lifecycle.Patch{
		JoinAt: request.JoinAt, DisplayName: request.DisplayName, Metadata: request.Metadata,
		AutoLeave: lifecycle.AutoLeavePatch(request.AutoLeave), Webhooks: lifecycle.WebhooksPatch{OnStatusChange: request.Webhooks.OnStatusChange.text, OnFinalize: request.Webhooks.OnFinalize.text},
		Title: request.Title.text, Options: request.Options,
	})
	if err != nil {
		return fmt.Errorf("change a job: %w", err)
	}
	if request.Metadata != nil {
		warn(w, j.UnusableMetadata()...)
	}
	a.writeJob(w, http.StatusOK, j)
	return nil
}

// isUnset reports whether a time is the zero value that clients in Go and .NET send for
// a time that was not set, to the millisecond.
func isUnset(t time.Time) bool { return t.Truncate(time.Millisecond).IsZero() }
