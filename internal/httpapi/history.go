package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/lifecycle"
	"standin/internal/webhook"
)

// History tells what happened to a job and who was told. A job that is missing
// or another's gives a *job.Error with NotFound.
type History interface {
	Timeline(ctx context.Context, caller account.Caller, id uuid.UUID, page lifecycle.Page) (entries []job.TimelineEntry, next string, err error)
	Deliveries(ctx context.Context, caller account.Caller, id uuid.UUID, page lifecycle.Page) (deliveries []webhook.DeliveryRecord, next string, err error)
	Redeliver(ctx context.Context, caller account.Caller, id uuid.UUID, deliveryID string) (webhook.DeliveryRecord, error)
}

// entryBody is a TimelineEntry of the description.
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

func entryView(e job.TimelineEntry) entryBody {
	view := entryBody{
		ID: e.ID, Attempt: e.Attempt, Source: e.Source,
		Kind:      strings.ReplaceAll(string(e.Kind), " ", "_"), // the service's own are words; codes are in snake case
		EmittedAt: job.Timestamp(e.EmittedAt), ReceivedAt: job.Timestamp(e.ReceivedAt),
		Applied: e.Applied, Reason: textOrNull(string(e.Reason)), From: e.From, To: e.To, Data: e.Data,
	}
	if len(view.Data) == 0 {
		view.Data = json.RawMessage("{}")
	}
	return view
}

func (a *API) listTimeline(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	id, query, err := a.listOfJob(r, "listTimeline")
	if err != nil {
		return err
	}
	entries, next, err := a.settings.History.Timeline(r.Context(), caller, id, pageOf(query))
	if err != nil {
		return fmt.Errorf("list a timeline: %w", err)
	}
	views := make([]entryBody, len(entries))
	for i, e := range entries {
		views[i] = entryView(e)
	}
	a.writeJSON(w, http.StatusOK, struct {
		Entries []entryBody `json:"entries"`
		Next    *string     `json:"nextCursor"`
	}{views, textOrNull(next)})
	return nil
}

// listOfJob reads what a list below a job asks for: whose, and which part.
func (a *API) listOfJob(r *http.Request, operationID string) (uuid.UUID, object, error) {
	id, err := jobID(r)
	if err != nil {
		return uuid.Nil, nil, err
	}
	query, err := a.readQuery(r, operationID)
	return id, query, err
}

// deliveryBody is a Delivery of the description.
type deliveryBody struct {
	ID        string                `json:"deliveryId"`
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

// tryBody is a DeliveryTry of the description.
type tryBody struct {
	Number    int           `json:"number"`
	StartedAt job.Timestamp `json:"startedAt"`
	LatencyMS int64         `json:"latencyMs"`
	Status    *int          `json:"status"`
	Error     *string       `json:"error"`
	Answer    string        `json:"answer"`
}

func deliveryView(d webhook.DeliveryRecord) deliveryBody {
	view := deliveryBody{
		ID: d.ID, Event: d.Event, URL: d.URL, Sequence: d.Sequence, EmittedAt: job.Timestamp(d.EmittedAt),
		Version: d.Version, State: d.State, Attempt: d.Attempt,
		NextTryAt: timestampOrNull(d.DueAt), EndedAt: timestampOrNull(d.EndedAt), EndReason: textOrNull(d.EndReason),
		Tries: make([]tryBody, len(d.Tries)),
	}
	for i, t := range d.Tries {
		view.Tries[i] = tryBody{
			Number: t.Number, StartedAt: job.Timestamp(t.StartedAt), LatencyMS: t.Latency.Milliseconds(),
			Error: textOrNull(t.Error), Answer: strings.ToValidUTF8(string(t.ResponseBody), "\uFFFD"),
		}
		if t.StatusCode != 0 {
			view.Tries[i].Status = &t.StatusCode
		}
	}
	return view
}

func timestampOrNull(t time.Time) *job.Timestamp {
	if t.IsZero() {
		return nil
	}
	timestamp := job.Timestamp(t)
	return &timestamp
}

func (a *API) listDeliveries(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	id, query, err := a.listOfJob(r, "listDeliveries")
	if err != nil {
		return err
	}
	deliveries, next, err := a.settings.History.Deliveries(r.Context(), caller, id, pageOf(query))
	if err != nil {
		return fmt.Errorf("list deliveries: %w", err)
	}
	views := make([]deliveryBody, len(deliveries))
	for i, d := range deliveries {
		views[i] = deliveryView(d)
	}
	a.writeJSON(w, http.StatusOK, struct {
		Deliveries []deliveryBody `json:"deliveries"`
		Next       *string        `json:"nextCursor"`
	}{views, textOrNull(next)})
	return nil
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
	a.writeJSON(w, http.StatusAccepted, deliveryView(delivery))
	return nil
}
