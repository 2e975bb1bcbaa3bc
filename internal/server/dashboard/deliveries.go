package dashboard

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/webhook"
)

// deliveriesView is the data of the log of deliveries.
type deliveriesView struct {
	Mode       job.Mode
	Deliveries []webhook.DeliveryRecord
	Names      map[uuid.UUID]string // of their jobs
	Events     []webhook.EventType
	Endpoints  []webhook.Endpoint

	Event, State, Endpoint, Job, From, To string // the filter
	Filtered                              bool

	Newest, Older string // URLs of pages
}

func jobOfDelivery(d webhook.DeliveryRecord) uuid.UUID { return d.JobID }

// deliveryLogPage shows the deliveries of the team.
func (d *Dashboard) deliveryLogPage(req *pageRequest) error {
	query := req.URL.Query()
	shown := deliveriesView{
		Mode: modeOf(query), Events: webhook.EventTypes(), Event: query.Get("event"), State: cmp.Or(query.Get("state"), string(webhook.DeliveryEnded)), Endpoint: query.Get("endpoint"), Job: strings.TrimSpace(query.Get("job")),
		From: query.Get("from"), To: query.Get("to"),
	}
	as := req.as(shown.Mode)
	filter := webhook.LogFilter{Event: shown.Event, State: webhook.DeliveryState(shown.State)}
	if shown.State == "any" {
		filter.State = ""
	}
	var err error
	if filter.From, filter.To, err = dayRange(shown.From, shown.To); err != nil {
		return err
	}
	known := true
	for text, id := range map[string]*uuid.UUID{shown.Endpoint: &filter.Endpoint, shown.Job: &filter.JobID} {
		if text == "" {
			continue
		}
		if *id, err = uuid.Parse(text); err != nil {
			known = false
		}
	}
	shown.Filtered = filter != (webhook.LogFilter{State: webhook.DeliveryEnded}) || !known
	if shown.Endpoints, _, err = d.Jobs.Endpoints(req.Context(), as, lifecycle.Page{Limit: lifecycle.MaxPage}); err != nil {
		return err
	}
	if !known { // nothing matches
		return req.show("deliveries", "Webhook deliveries", shown)
	}
	page := lifecycle.Page{Cursor: query.Get("cursor"), Limit: listPage}
	var next string
	if shown.Deliveries, next, err = d.Jobs.DeliveryLog(req.Context(), as, filter, page); err != nil {
		return err
	}
	shown.Names, err = names(req, shown.Deliveries, jobOfDelivery)
	query.Del("note")
	query.Del("cursor")
	if page.Cursor != "" {
		shown.Newest = "/webhooks/deliveries?" + query.Encode()
	}
	if next != "" {
		query.Set("cursor", next)
		shown.Older = "/webhooks/deliveries?" + query.Encode()
	}
	return req.showAfter(err, "deliveries", "Webhook deliveries", shown)
}

// deliveryView is the data of the page of a delivery.
type deliveryView struct {
	lifecycle.DeliveryDetails
	Mode    job.Mode
	Meeting string // empty without a job
	Body    string // indented
	Curl    string
}

// namedDelivery returns the delivery in the path, and its caller.
func (d *Dashboard) namedDelivery(req *pageRequest) (lifecycle.DeliveryDetails, account.Caller, error) {
	return inModes(req, notFound("There is no such webhook."), func(as account.Caller) (lifecycle.DeliveryDetails, error) {
		return d.Jobs.Delivery(req.Context(), as, req.PathValue("delivery"))
	}, job.Live, job.Test)
}

// deliveryPage shows the request and the attempts of a delivery.
func (d *Dashboard) deliveryPage(req *pageRequest, found lifecycle.DeliveryDetails, as account.Caller) error {
	shown := deliveryView{DeliveryDetails: found, Mode: as.Mode, Body: indented(found.Request.Body), Curl: found.Request.Curl()}
	called, err := req.d.Jobs.Store.JobNames(req.Context(), []uuid.UUID{found.JobID})
	shown.Meeting = called[found.JobID]
	return req.showAfter(err, "delivery", "Webhook", shown)
}

// replayDelivery sends a delivery again.
func (d *Dashboard) replayDelivery(req *pageRequest, found lifecycle.DeliveryDetails, as account.Caller) error {
	_, err := d.Jobs.RedeliverOne(req.Context(), as, found.ID)
	return req.redirectAfter(err, "/webhooks/deliveries/"+url.PathEscape(found.ID)+"?note=redelivered")
}

// exampleView is an event with an example.
type exampleView struct {
	webhook.EventType
	Body string
}

// eventsPage shows what endpoints can take.
func (d *Dashboard) eventsPage(req *pageRequest) error {
	var shown []exampleView
	for _, e := range webhook.EventTypes() {
		body, err := webhook.ExampleBody(e.Name)
		if err != nil {
			return err
		}
		shown = append(shown, exampleView{e, indented(body)})
	}
	return req.show("events", "Webhook events", shown)
}
