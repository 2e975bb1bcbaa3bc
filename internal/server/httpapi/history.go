package httpapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
)

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
		Applied: e.Applied, Reason: orNull(string(e.Reason)), From: e.From, To: e.To, Data: e.Data,
	}
	if len(body.Data) == 0 {
		body.Data = json.RawMessage("{}")
	}
	return body
}

func (a *API) listTimeline(r *apiRequest, in pageQuery) error {
	entries, next, err := a.Jobs.Timeline(r.Context(), r.caller, r.id, in.page())
	return respondPage(r, "entries", entries, newEntryBody, next, err)
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
	return deliveryBody{
		ID: d.ID, JobID: orNull(d.JobID), Event: d.Event, URL: d.URL, Sequence: d.Sequence, EmittedAt: job.Timestamp(d.EmittedAt),
		Version: d.Version, State: d.State, Attempt: d.Attempt,
		NextTryAt: job.NullTimestamp(d.NextTryAt), EndedAt: job.NullTimestamp(d.EndedAt), EndReason: orNull(d.EndReason),
		Tries: bodiesOf(d.Tries, newTryBody),
	}
}

func newTryBody(t webhook.Try) tryBody {
	return tryBody{
		Number: t.Number, StartedAt: job.Timestamp(t.StartedAt), LatencyMS: t.Latency.Milliseconds(), Status: orNull(t.StatusCode),
		Error: orNull(t.Error), ResponseBody: strings.ToValidUTF8(string(t.ResponseBody), "\uFFFD"),
	}
}

func (a *API) listDeliveries(r *apiRequest, in pageQuery) error {
	deliveries, next, err := a.Jobs.Deliveries(r.Context(), r.caller, r.id, in.page())
	return respondPage(r, "deliveries", deliveries, newDeliveryBody, next, err)
}

func (a *API) redeliver(r *apiRequest) error {
	delivery, err := a.Jobs.Redeliver(r.Context(), r.caller, r.id, r.PathValue("deliveryId"))
	return r.respondStatus(http.StatusAccepted, newDeliveryBody(delivery), err)
}

// defaultMatches is the number of matches of a search that names no limit.
const defaultMatches = 50

// matchBody is the TextMatch schema of api/openapi.yaml.
type matchBody struct {
	JobID        uuid.UUID     `json:"jobId"`
	JobCreatedAt job.Timestamp `json:"jobCreatedAt"`
	MeetingURL   string        `json:"meetingUrl"`
	Kind         job.TextKind  `json:"kind"`
	StartMs      int64         `json:"startMs"`
	Speaker      string        `json:"speaker"`
	Text         string        `json:"text"`
}

func newMatchBody(m job.SearchMatch) matchBody {
	return matchBody{
		JobID: m.JobID, JobCreatedAt: job.Timestamp(m.CreatedAt), MeetingURL: m.MeetingURL,
		Kind: m.Kind, StartMs: max(0, m.StartMs), Speaker: m.Speaker, Text: m.Text,
	}
}

type searchQuery struct {
	Words       string    `json:"q"`
	Speaker     string    `json:"speaker"`
	CreatedFrom time.Time `json:"createdFrom"`
	CreatedTo   time.Time `json:"createdTo"`
	Limit       int       `json:"limit"`
}

func (a *API) searchTexts(r *apiRequest, in searchQuery) error {
	if in.Words == "" {
		return invalid(issue("required", "is missing", "q"))
	}
	release, err := r.costlyRead()
	if err != nil {
		return err
	}
	filter := job.TextFilter{Speaker: in.Speaker, From: in.CreatedFrom, To: in.CreatedTo}
	matches, err := a.Jobs.Store.SearchTexts(r.Context(), r.caller, in.Words, filter, cmp.Or(in.Limit, defaultMatches))
	release()
	if err != nil {
		return fmt.Errorf("search texts: %w", err)
	}
	return r.respond(map[string]any{"matches": bodiesOf(matches, newMatchBody)}, nil)
}

// usageBody is the UsageReport schema of api/openapi.yaml.
type usageBody struct {
	From  string          `json:"from"`
	To    string          `json:"to"`
	Total job.UsageFields `json:"total"`
	Days  []usageDayBody  `json:"days"`
	Kept  int64           `json:"keptBytes"`
}

// usageDayBody is the UsageDay schema of api/openapi.yaml.
type usageDayBody struct {
	Date string `json:"date"`
	job.UsageFields
}

type usageQuery struct {
	From   string `json:"from"`
	To     string `json:"to"`
	Format string `json:"format"`
}

func (a *API) getUsage(r *apiRequest, in usageQuery) error {
	from, to, err := job.UsageDays(in.From, in.To, time.Now())
	if err != nil {
		return err
	}
	report, err := a.Jobs.Store.Usage(r.Context(), r.caller, from, to)
	if err != nil {
		return fmt.Errorf("read the usage: %w", err)
	}
	if in.Format == "csv" {
		return r.respondContent("text/csv; charset=utf-8", report.CSV())
	}
	return r.respond(usageBody{
		From: report.From.Format(time.DateOnly), To: report.To.Format(time.DateOnly),
		Total: report.Total.Fields(), Kept: max(0, report.Kept),
		Days: bodiesOf(report.Days, func(day job.UsageDay) usageDayBody { return usageDayBody{day.Day.Format(time.DateOnly), day.Fields()} }),
	}, nil)
}
