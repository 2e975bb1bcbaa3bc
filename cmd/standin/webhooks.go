package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"standin/client"
	"standin/internal/account"
	"standin/internal/store"
)

// envWebhookSecret is the environment variable with a consumer's webhook secret.
// There is no flag for it because other users of the machine can read process
// arguments.
const envWebhookSecret = "STANDIN_WEBHOOK_SECRET"

type webhooksCommand struct {
	Verify       webhooksVerifyCommand       `cmd:"" help:"Verify the signatures of a webhook. Exit code 3 if they do not verify."`
	Listen       webhooksListenCommand       `cmd:"" help:"Receive, verify and print webhooks on this machine."`
	Endpoints    webhooksEndpointsCommand    `cmd:"" help:"List, register, test and retry webhook endpoints."`
	Deliveries   webhooksDeliveriesCommand   `cmd:"" help:"List the webhook deliveries of the team, newest first."`
	Show         webhooksShowCommand         `cmd:"" help:"Show the request and the attempts of a delivery."`
	Events       webhooksEventsCommand       `cmd:"" help:"List the events that an endpoint can take, or print an example."`
	Redeliver    webhooksRedeliverCommand    `cmd:"" help:"Redeliver webhooks that failed permanently."`
	RotateSecret webhooksRotateSecretCommand `cmd:"" help:"Create a new webhook secret, with a live key. Prints only the secret; the old one also signs for 24 hours."`
}

// secretFlags locate the webhook secret.
type secretFlags struct {
	SecretFile string `type:"existingfile" placeholder:"FILE" help:"File with the webhook secret. Default: the environment variable STANDIN_WEBHOOK_SECRET."`
}

// secret returns the secret.
func (f secretFlags) secret() (string, error) {
	if f.SecretFile == "" {
		secret, err := secretOf(envWebhookSecret)
		if err == nil && secret == "" {
			err = errors.New("no webhook secret: set " + envWebhookSecret + " or pass --secret-file")
		}
		return secret, err
	}
	secret, err := readSecret(f.SecretFile)
	if err == nil && secret == "" {
		err = fmt.Errorf("%s does not contain a webhook secret", f.SecretFile)
	}
	return secret, err
}

type webhooksRedeliverCommand struct {
	apiFlags
	Job      string     `help:"Only webhooks of this job."`
	Endpoint string     `help:"Only webhooks to this endpoint."`
	Address  string     `placeholder:"https://…" help:"Only webhooks to this URL."`
	From     *time.Time `placeholder:"TIME" help:"Only webhooks of events at or after this time."`
	To       *time.Time `placeholder:"TIME" help:"Only webhooks of events before this time."`
}

// Run requests the redelivery.
func (c *webhooksRedeliverCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	filter := client.FailedDeliveryFilter{JobID: c.Job, EndpointID: c.Endpoint, URL: c.Address, From: c.From, To: c.To}
	if filter == (client.FailedDeliveryFilter{}) {
		return errors.New("pass at least one of --job, --endpoint, --address, --from and --to")
	}
	count, err := api.RedeliverFailed(ctx, filter)
	return c.printLine(to, map[string]int{"count": count}, err, fmt.Sprintf("%d webhooks will be redelivered", count))
}

type webhooksRotateSecretCommand struct{ apiFlags }

// Run rotates the secret of the key's consumer.
func (c *webhooksRotateSecretCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	secret, until, err := api.RotateWebhookSecret(ctx)
	shown := map[string]any{"secret": secret, "previousSignsUntil": until}
	return c.print(to, shown, err, func() error { return printSecret(to, secret, until) })
}

// printSecret prints a new secret, alone, on standard output.
func printSecret(to terminal, secret string, previousUntil time.Time) error {
	fmt.Fprintf(to.Err, "the old secret also signs until %s\n", previousUntil.Local().Format("2006-01-02 15:04"))
	return to.println(secret)
}

type consumersRotateSecretCommand struct{ teamFlags }

// Run rotates the secret in the database.
func (c *consumersRotateSecretCommand) Run(ctx context.Context, to terminal, s *store.Store, team account.Consumer) error {
	secret, until, err := account.RotateSecret(ctx, s, team.ID, time.Now())
	if err != nil {
		return err
	}
	return printSecret(to, secret, until)
}

type consumersSetVersionCommand struct {
	teamFlags
	Version int `arg:"" enum:"1,2" help:"The version: 1 or 2."`
}

// Run sets the payload version.
func (c *consumersSetVersionCommand) Run(ctx context.Context, to terminal, s *store.Store, team account.Consumer) error {
	if err := s.ChangeConsumer(ctx, team.ID, func(team *account.Consumer) { team.WebhookVersion = c.Version }); err != nil {
		return err
	}
	return to.printf("new events of %s have payload version %d\n", team.Name, c.Version)
}
