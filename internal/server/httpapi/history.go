package httpapi

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"standin/client"
	"standin/internal/jobs/job"
	"standin/internal/jobs/webhook"
)

func newEntryBody(e job.TimelineEntry) client.TimelineEntry {
	body := client.TimelineEntry{
		ID: e.ID.String(), Attempt: e.Attempt, Source: string(e.Source), Kind: string(e.Kind), EmittedAt: e.EmittedAt, ReceivedAt: e.ReceivedAt,
		Applied: e.Applied, Reason: orNull(string(e.Reason)), From: string(e.From), To: string(e.To), Data: e.Data,
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

func newDeliveryBody(d webhook.DeliveryRecord) client.Delivery {
	return client.Delivery{
		DeliveryID: d.ID, JobID: idOrNull(d.JobID), Event: d.Event, URL: d.URL, Sequence: int(d.Sequence), EmittedAt: d.EmittedAt,
		Version: d.Version, State: string(d.State), Attempt: d.Attempt, NextTryAt: timeOrNull(d.NextTryAt), EndedAt: timeOrNull(d.EndedAt),
		EndReason: orNull(d.EndReason), Tries: bodiesOf(d.Tries, newTryBody),
	}
}

func newTryBody(t webhook.Try) client.Try {
	return client.Try{
		Number: t.Number, StartedAt: t.StartedAt, LatencyMS: int(t.Latency.Milliseconds()), Status: orNull(t.StatusCode),
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

func newMatchBody(m job.SearchMatch) client.TextMatch {
	return client.TextMatch{
		JobID: m.JobID.String(), JobCreatedAt: m.CreatedAt, MeetingURL: m.MeetingURL,
		Kind: string(m.Kind), StartMS: max(0, m.StartMs), Speaker: m.Speaker, Text: m.Text,
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
	return r.respond(map[string]any{"matches": bodiesOf(matches, newMatchBody)}, err)
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
		return err
	}
	if in.Format == "csv" {
		return r.respondContent("text/csv; charset=utf-8", report.CSV(a.Jobs.Prices))
	}
	return r.respond(client.UsageReport{
		From: report.From.Format(time.DateOnly), To: report.To.Format(time.DateOnly),
		Total: client.Usage(report.Total.Fields(a.Jobs.Prices)), KeptBytes: max(0, report.Kept),
		Days: bodiesOf(report.Days, func(day job.UsageDay) client.UsageDay {
			return client.UsageDay{Date: day.Day.Format(time.DateOnly), Usage: client.Usage(day.Fields(a.Jobs.Prices))}
		}),
	}, nil)
}
