package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"standin/client"
	"standin/internal/jobs/webhook"
)

type webhooksEndpointsCommand struct {
	List   endpointsListCommand   `cmd:"" default:"withargs" help:"List webhook endpoints and their health. The default."`
	Add    endpointsAddCommand    `cmd:"" help:"Register an endpoint for the events of all jobs."`
	Set    endpointsSetCommand    `cmd:"" help:"Change what a registered endpoint takes, or switch it on or off."`
	Remove endpointsRemoveCommand `cmd:"" help:"Delete a registered endpoint. Its pending webhooks fail."`
	Test   endpointsTestCommand   `cmd:"" help:"Send a test event to an endpoint. Exit code 1 if it does not acknowledge it."`
	Retry  endpointsRetryCommand  `cmd:"" help:"Send the pending webhooks of an endpoint now."`
}

type endpointsListCommand struct{ apiFlags }

// Run lists the endpoints.
func (c *endpointsListCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	listed, err := collect(api.WebhookEndpoints(ctx), 0)
	return c.print(to, listed, err, func() error { return printEndpoints(to, listed...) })
}

func printEndpoints(to terminal, listed ...client.WebhookEndpoint) error {
	return to.table("ID|URL|EVENTS|STATE|PENDING|FAILING SINCE|NEXT ATTEMPT|LAST ERROR",
		rows(listed, func(endpoint client.WebhookEndpoint) []string {
			events := strings.Join(endpoint.Events, " ")
			switch {
			case !endpoint.Registered:
				events = "(of jobs)"
			case !endpoint.Enabled:
				events = "(disabled) " + events
			}
			failure := ""
			switch {
			case endpoint.Failures == 0:
			case endpoint.LastError != nil:
				failure = *endpoint.LastError
			case endpoint.LastStatus != nil:
				failure = fmt.Sprintf("status %d", *endpoint.LastStatus)
			}
			return []string{
				endpoint.ID, endpoint.URL, events, endpoint.State, strconv.Itoa(endpoint.Waiting), to.maybe(endpoint.FailingSince),
				to.maybe(endpoint.NextTryAt), failure,
			}
		}))
}

// printEndpoint prints an endpoint, unless the request for it failed.
func (f outputFlags) printEndpoint(to terminal, endpoint client.WebhookEndpoint, err error) error {
	return f.print(to, endpoint, err, func() error { return printEndpoints(to, endpoint) })
}

type endpointsAddCommand struct {
	apiFlags
	Address     string   `arg:"" help:"URL of the endpoint."`
	Events      []string `short:"e" required:"" help:"Events to send, comma-separated: names, beginnings of names as in bot.*, or *. See standin webhooks events."`
	Description string   `help:"What it is for."`
}

// Run registers the endpoint.
func (c *endpointsAddCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	warnOfPrivate(to, c.Address)
	created, err := api.CreateWebhookEndpoint(ctx, client.NewWebhookEndpoint{URL: c.Address, Events: c.Events, Description: c.Description})
	return c.printEndpoint(to, created, err)
}

// endpointFlags name an endpoint.
type endpointFlags struct {
	apiFlags
	ID string `arg:"" help:"ID of the endpoint."`
}

type endpointsSetCommand struct {
	endpointFlags
	Events      []string `short:"e" help:"Events to send, comma-separated."`
	Description *string  `help:"What it is for."`
	Enabled     *bool    `negatable:"" help:"Send events to it, or not."`
}

// Run changes the endpoint.
func (c *endpointsSetCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	if c.Events == nil && c.Description == nil && c.Enabled == nil {
		return errors.New("pass at least one of --events, --description and --[no-]enabled")
	}
	changed, err := api.PatchWebhookEndpoint(ctx, c.ID, client.WebhookEndpointPatch{
		Events: c.Events, Description: c.Description, Enabled: c.Enabled,
	})
	return c.printEndpoint(to, changed, err)
}

type endpointsRemoveCommand struct{ endpointFlags }

// Run deletes the endpoint.
func (c *endpointsRemoveCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	if err := api.DeleteWebhookEndpoint(ctx, c.ID); err != nil {
		return err
	}
	_, err := fmt.Fprintln(to.Err, "deleted")
	return err
}

type endpointsTestCommand struct {
	endpointFlags
	Event string `help:"Name of the event. Default: the first one that the endpoint takes."`
}

// Run sends the event.
func (c *endpointsTestCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	result, err := api.TestWebhookEndpoint(ctx, c.ID, c.Event)
	if err := c.print(to, result, err, func() error {
		return to.table("EVENT|RESPONSE|MILLISECONDS", [][]string{{
			result.Event, responseText(result.Status, result.Error), strconv.Itoa(result.LatencyMS),
		}})
	}); err != nil {
		return err
	}
	if !result.Acknowledged {
		return errors.New("the endpoint did not acknowledge the event")
	}
	return nil
}

type endpointsRetryCommand struct{ endpointFlags }

// Run requests the attempts.
func (c *endpointsRetryCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	endpoint, err := api.RetryWebhookEndpoint(ctx, c.ID)
	return c.printEndpoint(to, endpoint, err)
}

type webhooksDeliveriesCommand struct {
	apiFlags
	Event    string    `help:"Only deliveries of this event."`
	State    string    `enum:",waiting,delivered,failed" default:"" help:"Only deliveries in this state: waiting, delivered or failed."`
	Endpoint string    `placeholder:"ID" help:"Only deliveries to this endpoint."`
	Job      string    `placeholder:"ID" predictor:"job" help:"Only deliveries of this job."`
	From     time.Time `placeholder:"TIME" help:"Only deliveries of events at or after this time."`
	To       time.Time `placeholder:"TIME" help:"Only deliveries of events before this time."`
	Limit    int       `default:"50" help:"Maximum number of deliveries; 0 means all."`
}

// Run lists the deliveries.
func (c *webhooksDeliveriesCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	filter := client.DeliveryFilter{Event: c.Event, State: c.State, EndpointID: c.Endpoint, JobID: c.Job, From: c.From, To: c.To}
	return printList(c.outputFlags, to, "WHEN|ID|EVENT|STATE|ATTEMPTS|RESPONSE|NEXT ATTEMPT|URL", api.TeamDeliveries(ctx, filter), c.Limit,
		func(delivery client.Delivery) []string {
			return []string{
				to.time(delivery.EmittedAt), delivery.DeliveryID, delivery.Event, delivery.State, strconv.Itoa(len(delivery.Tries)),
				lastTry(delivery), to.maybe(delivery.NextTryAt), delivery.URL,
			}
		})
}

type webhooksShowCommand struct {
	apiFlags
	ID   string `arg:"" help:"ID of the delivery: dlv_…"`
	Curl bool   `help:"Print a curl command that sends the same request."`
}

// Run prints the request of a delivery.
func (c *webhooksShowCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	found, err := api.Delivery(ctx, c.ID)
	if err != nil {
		return err
	}
	if c.Curl {
		request := webhook.Request{URL: found.URL, Header: make(map[string][]string), Body: []byte(found.Body)}
		for _, header := range found.Headers {
			request.Header.Add(header.Name, header.Value)
		}
		return to.println(request.Curl())
	}
	return c.print(to, found, nil, func() error {
		fmt.Fprintf(to.Out, "POST %s\n", oneLine(found.URL))
		for _, header := range found.Headers {
			fmt.Fprintf(to.Out, "%s: %s\n", oneLine(header.Name), oneLine(header.Value))
		}
		fmt.Fprintf(to.Out, "\n%s\n\n", oneLine(found.Body))
		return to.table("ATTEMPT|WHEN|RESPONSE|MILLISECONDS|BODY", rows(found.Tries, func(try client.Try) []string {
			return []string{
				strconv.Itoa(try.Number), to.time(try.StartedAt), responseText(try.Status, try.Error), strconv.Itoa(try.LatencyMS),
				try.ResponseBody,
			}
		}))
	})
}

type webhooksEventsCommand struct {
	outputFlags
	Event string `arg:"" optional:"" help:"Print an example of this event."`
}

// Run lists the events that an endpoint can take.
func (c *webhooksEventsCommand) Run(to terminal) error {
	if c.Event != "" {
		example, err := webhook.ExampleBody(c.Event)
		if err != nil {
			return err
		}
		return printJSON(to.Out, json.RawMessage(example))
	}
	type eventType struct {
		Name string `json:"name"`
		When string `json:"when"`
	}
	types := rows(webhook.EventTypes(), func(e webhook.EventType) eventType { return eventType{e.Name, e.When} })
	return printTable(c.outputFlags, to, "EVENT|SENT WHEN", types, nil, func(e eventType) []string {
		return []string{e.Name, e.When}
	})
}
