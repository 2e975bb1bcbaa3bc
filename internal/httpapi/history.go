package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/webhook"
)

// History lists the timeline and the webhook deliveries of jobs. A job that
// does not exist or belongs to another consumer results in a *job.Error with
// NotFound.
type History interface {
	Timeline(ctx context.Context, caller account.Caller, id uuid.UUID, page lifecycle.Page) (entries []job.TimelineEntry, next string, err error)
	Deliveries(ctx context.Context, caller account.Caller, id uuid.UUID, page lifecycle.Page) (deliveries []webhook.DeliveryRecord, next string, err error)
	// TranscriptProblem returns why a job has no transcript, as a sentence; empty when
	// nothing has failed.
	TranscriptProblem(ctx context.Context, id uuid.UUID) (string, error)
	Redeliver(ctx context.Context, caller account.Caller, id uuid.UUID, deliveryID string) (webhook.DeliveryRecord, error)
}

// entryBody is the TimelineEntry schema of api/openapi.yaml.
type entryBody struct {
	ID         uuid.UUID       `json:"id"`
	Attempt    int             `json:"attempt"`
	Source     job.Source      `json:"source"`
	Kind       string          `json:"kind"`
	EmittedAt  job.Timestamp   `json:"emittedAt"`
	ReceivedAt job.Timestamp   `json:"receivedAt"`
	Applied    bool            `json:"applied"`
	Reason     *string         `json:"reason"`
	From       job.Status      `json:"from"`
	To         job.Status      `json:"to"`
	Data       json.RawMessage `json:"data"`
}

func newEntryBody(e job.TimelineEntry) entryBody {
	body := entryBody{
		ID: e.ID, Attempt: e.Attempt, Source: e.Source,
		Kind:      string(e.Kind),
		EmittedAt: job.Timestamp(e.EmittedAt), ReceivedAt: job.Timestamp(e.ReceivedAt),
		Applied: e.Applied, Reason: nullText(string(e.Reason)), From: e.From, To: e.To, Data: e.Data,
	}
	if len(body.Data) == 0 {
		body.Data = json.RawMessage("{}")
	}
	return body
}

func (a *API) listTimeline(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	id, page, err := a.readJobList(w, r, "listTimeline")
	if err != nil {
		return err
	}
	entries, next, err := a.settings.History.Timeline(r.Context(), caller, id, page)
	if err != nil {
		return fmt.Errorf("list a timeline: %w", err)
	}
	a.writeJSON(w, http.StatusOK, struct {
		Entries []entryBody `json:"entries"`
		Next    *string     `json:"nextCursor"`
	}{bodiesOf(entries, newEntryBody), nullText(next)})
	return nil
}

// readJobList reads the job in the path and the page of a list of that job.
func (a *API) readJobList(w http.ResponseWriter, r *http.Request, operationID string) (uuid.UUID, lifecycle.Page, error) {
	id, err := jobID(r)
	if err != nil {
		return uuid.Nil, lifecycle.Page{}, err
	}
	var query pageQuery
	err = a.readQuery(w, r, operationID, &query)
	return id, query.page(), err
}

// deliveryBody is the Delivery schema of api/openapi.yaml.
type deliveryBody struct {
	ID        string                `json:"deliveryId"`
	JobID     *uuid.UUID            `json:"jobId"`
	Event     string                `json:"event"`
	URL       string                `json:"url"`
	Sequence  int64                 `json:"sequence"`
	EmittedAt job.Timestamp         `json:"emittedAt"`
	Version   int                   `json:"version"`
	State     webhook.DeliveryState `json:"state"`
	Attempt   int                   `json:"attempt"`
	NextTryAt *job.Timestamp        `json:"nextTryAt"`
	EndedAt   *job.Timestamp        `json:"endedAt"`
	EndReason *string               `json:"endReason"`
	Tries     []tryBody             `json:"tries"`
}

// tryBody is the DeliveryTry schema of api/openapi.yaml.
type tryBody struct {
	Number       int           `json:"number"`
	StartedAt    job.Timestamp `json:"startedAt"`
	LatencyMS    int64         `json:"latencyMs"`
	Status       *int          `json:"status"`
	Error        *string       `json:"error"`
	ResponseBody string        `json:"responseBody"`
}

func newDeliveryBody(d webhook.DeliveryRecord) deliveryBody {
	body := deliveryBody{
		ID: d.ID, Event: d.Event, URL: d.URL, Sequence: d.Sequence, EmittedAt: job.Timestamp(d.EmittedAt),
		Version: d.Version, State: d.State, Attempt: d.Attempt,
		NextTryAt: job.NullTimestamp(d.NextTryAt), EndedAt: job.NullTimestamp(d.EndedAt), EndReason: nullText(d.EndReason),
		Tries: make([]tryBody, len(d.Tries)),
	}
	if d.JobID != uuid.Nil {
		body.JobID = &d.JobID
	}
	for i, t := range d.Tries {
		body.Tries[i] = tryBody{
			Number: t.Number, StartedAt: job.Timestamp(t.StartedAt), LatencyMS: t.Latency.Milliseconds(),
			Error: nullText(t.Error), ResponseBody: strings.ToValidUTF8(string(t.ResponseBody), "\uFFFD"),
		}
		if t.StatusCode != 0 {
			body.Tries[i].Status = &t.StatusCode
		}
	}
	return body
}

func (a *API) listDeliveries(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	id, page, err := a.readJobList(w, r, "listDeliveries")
	if err != nil {
		return err
	}
	deliveries, next, err := a.settings.History.Deliveries(r.Context(), caller, id, page)
	if err != nil {
		return fmt.Errorf("list deliveries: %w", err)
	}
	a.writeDeliveries(w, deliveries, next)
	return nil
}

// writeDeliveries responds with a page of deliveries.
func (a *API) writeDeliveries(w http.ResponseWriter, deliveries []webhook.DeliveryRecord, next string) {
	a.writeJSON(w, http.StatusOK, struct {
		Deliveries []deliveryBody `json:"deliveries"`
		Next       *string        `json:"nextCursor"`
	}{bodiesOf(deliveries, newDeliveryBody), nullText(next)})
}

func (a *API) redeliver(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	id, err := jobID(r)
	if err != nil {
		return err
	}
	delivery, err := a.settings.History.Redeliver(r.Context(), caller, id, r.PathValue("deliveryId"))
	if err != nil {
		return fmt.Errorf("redeliver a webhook: %w", err)
	}
	a.writeJSON(w, http.StatusAccepted, newDeliveryBody(delivery))
	return nil
}
