package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/webhook"
)

// endpointView is a webhook endpoint, for people.
type endpointView struct {
	webhook.Endpoint
	State string // as in the API, or disabled
}

func viewEndpoint(e webhook.Endpoint) endpointView {
	if e.Registered && !e.Enabled {
		return endpointView{e, "disabled"}
	}
	return endpointView{e, string(lifecycle.StateOf(e))}
}

// eventChoice is an event that an endpoint can take.
type eventChoice struct {
	webhook.EventType
	Chosen bool
}

// eventChoices returns all events with those of a choice marked.
func eventChoices(chosen []string) []eventChoice {
	var choices []eventChoice
	for _, e := range webhook.EventTypes() {
		choices = append(choices, eventChoice{e, webhook.Takes(chosen, e.Name)})
	}
	return choices
}

// endpointPageView is the data of the page of an endpoint, or of a new one.
type endpointPageView struct {
	Mode       job.Mode
	Endpoint   endpointView
	Events     []eventChoice
	All        bool // all events, also later ones
	Deliveries []webhook.DeliveryRecord
	Names      map[uuid.UUID]string // of their jobs
	Plots      []plot
	Log        string // URL of all deliveries of the endpoint
	Tested     *webhook.Try
	Problem    string
}

func (d *Dashboard) newEndpointPage(req *pageRequest) error {
	shown := endpointPageView{Mode: modeOf(req.URL.Query()), Events: eventChoices(nil)}
	return req.show("endpoint-new", "Add an endpoint", shown)
}

// chosenEvents returns the choice of a form.
func chosenEvents(form url.Values) []string {
	if form.Get("all") == "on" {
		return []string{"*"}
	}
	return form["events"]
}

func (d *Dashboard) createEndpoint(req *pageRequest) error {
	form, mode := req.PostForm, modeOf(req.URL.Query())
	created, err := d.Jobs.RegisterEndpoint(req.Context(), req.as(mode), lifecycle.NewEndpoint{
		URL: strings.TrimSpace(form.Get("url")), Events: chosenEvents(form), Description: strings.TrimSpace(form.Get("description")),
	})
	if _, message, ok := req.correct(err); ok {
		shown := endpointPageView{Mode: mode, Events: eventChoices(chosenEvents(form)), All: form.Get("all") == "on", Problem: message}
		shown.Endpoint.URL, shown.Endpoint.Description = form.Get("url"), form.Get("description")
		return req.showStatus(http.StatusBadRequest, "endpoint-new", "Add an endpoint", shown)
	}
	return req.redirectAfter(err, endpointURL(created.ID, mode, "endpoint-added"))
}

// endpointURL returns the URL of the page of an endpoint, with a notice.
func endpointURL(id uuid.UUID, mode job.Mode, notice string) string {
	return "/webhooks/endpoints/" + id.String() + "?" + url.Values{"mode": {string(mode)}, "note": {notice}}.Encode()
}

// namedEndpoint returns the endpoint in the path, and the caller that may change it. URLs of
// jobs belong to both modes: they are those of the mode in the query.
func (d *Dashboard) namedEndpoint(req *pageRequest) (webhook.Endpoint, account.Caller, error) {
	return named(req, notFound("There is no such endpoint."), req.PathValue("id"), d.Jobs.Endpoint, modeOf(req.URL.Query()),
		job.Live, job.Test)
}

func (d *Dashboard) endpointPage(req *pageRequest, found webhook.Endpoint, as account.Caller) error {
	return d.showEndpoint(req, found, as, http.StatusOK, endpointPageView{})
}

func (d *Dashboard) showEndpoint(req *pageRequest, found webhook.Endpoint, as account.Caller, status int,
	shown endpointPageView) (err error) {
	shown.Mode, shown.Endpoint, shown.Events = as.Mode, viewEndpoint(found), eventChoices(found.Events)
	shown.All = webhook.Takes(found.Events, "*")
	page := lifecycle.Page{Limit: listPage}
	if shown.Deliveries, _, err = d.Jobs.DeliveryLog(req.Context(), as, webhook.LogFilter{Endpoint: found.ID},
		page); err != nil {
		return err
	}
	if shown.Names, err = names(req, shown.Deliveries, jobOfDelivery); err != nil {
		return err
	}
	if shown.Plots, err = d.plotTries(req, as, found.Key); err != nil {
		return err
	}
	shown.Log = "/webhooks/deliveries?" + url.Values{"mode": {string(as.Mode)}, "endpoint": {found.ID.String()}, "state": {"any"}}.Encode()
	return req.showStatus(status, "endpoint", "Webhook endpoint", shown)
}

func (d *Dashboard) changeEndpoint(req *pageRequest, found webhook.Endpoint, as account.Caller) error {
	form := req.PostForm
	description, enabled := strings.TrimSpace(form.Get("description")), form.Get("enabled") == "on"
	events := chosenEvents(form)
	if events == nil {
		events = []string{} // none is a mistake, not no change
	}
	_, err := d.Jobs.ChangeEndpoint(req.Context(), as, found.ID, lifecycle.EndpointPatch{
		Events: events, Description: &description, Enabled: &enabled,
	})
	if status, problem, ok := req.correct(err); ok {
		return d.showEndpoint(req, found, as, status, endpointPageView{Problem: problem})
	}
	return req.redirectAfter(err, endpointURL(found.ID, as.Mode, "endpoint-changed"))
}

// endpointAction runs the action of a button on an endpoint's page.
func (d *Dashboard) endpointAction(req *pageRequest, found webhook.Endpoint, as account.Caller) error {
	ctx := req.Context()
	switch req.PathValue("verb") {
	case "delete":
		return req.redirectAfter(d.Jobs.DeleteEndpoint(ctx, as, found.ID),
			"/webhooks?"+url.Values{"mode": {string(as.Mode)}, "note": {"endpoint-deleted"}}.Encode())
	case "retry":
		_, err := d.Jobs.RetryEndpoint(ctx, as, found.ID)
		return req.redirectAfter(err, endpointURL(found.ID, as.Mode, "endpoint-retried"))
	case "redeliver":
		since, err := time.ParseInLocation("2006-01-02T15:04", req.PostForm.Get("since"), time.UTC)
		if err != nil {
			return d.showEndpoint(req, found, as, http.StatusBadRequest,
				endpointPageView{Problem: "Enter the time since which webhooks are to be sent again."})
		}
		_, err = d.Jobs.RedeliverFailed(ctx, as, lifecycle.FailedDeliveries{EndpointID: found.ID, From: since})
		return req.redirectAfter(err, endpointURL(found.ID, as.Mode, "redelivered-since"))
	case "test":
		if err := d.throttle(req); err != nil {
			return err
		}
		result, err := d.Tester.Test(ctx, as.ConsumerID, found.URL, req.PostForm.Get("event"))
		if err != nil {
			return err
		}
		return d.showEndpoint(req, found, as, http.StatusOK, endpointPageView{Tested: &result})
	}
	return notFound("There is no such action.")
}
