package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"standin/client"
	"standin/internal/account"
	"standin/internal/store"
)

// envWebhookSecret holds a consumer's webhook secret. It is no flag: arguments
// are seen by everybody on the machine.
const envWebhookSecret = "STANDIN_WEBHOOK_SECRET"

type webhooksCommand struct {
	Verify       webhooksVerifyCommand       `cmd:"" help:"Check the signatures of a webhook. Exit code 3 when they do not verify."`
	Listen       webhooksListenCommand       `cmd:"" help:"Receive webhooks on this machine, verify and print them."`
	Endpoints    webhooksEndpointsCommand    `cmd:"" help:"List the addresses that webhooks go to, and how they do."`
	Redeliver    webhooksRedeliverCommand    `cmd:"" help:"Send webhooks once more that were given up."`
	RotateSecret webhooksRotateSecretCommand `cmd:"" help:"Get a new webhook secret, printed alone on standard output. It is shown this once; the old one signs too for 24 hours."`
}

// secretFlags say where the webhook secret is.
type secretFlags struct {
	SecretFile string `type:"existingfile" placeholder:"FILE" help:"File with the webhook secret. Default: the environment variable STANDIN_WEBHOOK_SECRET."`
}

// largestSecret bounds a secret's file.
const largestSecret = 4 << 10

// secret returns the secret, without the line break at the end of a file.
func (f secretFlags) secret() (string, error) {
	if f.SecretFile == "" {
		if secret := os.Getenv(envWebhookSecret); secret != "" {
			return secret, nil
		}
		return "", errors.New("no webhook secret: set " + envWebhookSecret + ", or name a file with --secret-file")
	}
	file, err := os.Open(f.SecretFile)
	if err != nil {
		return "", fmt.Errorf("open the secret's file: %w", err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.LimitReader(file, largestSecret+1))
	if err != nil {
		return "", fmt.Errorf("read the secret's file: %w", err)
	}
	secret := strings.TrimRight(string(content), "\r\n")
	if secret == "" || len(content) > largestSecret {
		return "", fmt.Errorf("%s holds no webhook secret", f.SecretFile)
	}
	return secret, nil
}

type webhooksEndpointsCommand struct{ apiFlags }

// Run lists the endpoints.
func (c *webhooksEndpointsCommand) Run(ctx context.Context, to terminal) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	listed := []client.WebhookEndpoint{}
	for one, err := range api.WebhookEndpoints(ctx) {
		if err != nil {
			return err
		}
		listed = append(listed, one)
	}
	if c.JSON {
		return printJSON(to.out, listed)
	}
	table := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "STATE\tWAITING\tFAILING SINCE\tNEXT TRY\tADDRESS\tLAST ERROR")
	for _, one := range listed {
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\n", one.State, one.Waiting,
			orDash(moment(one.FailingSince)), orDash(moment(one.NextTryAt)), oneLine(one.URL), oneLine(lastFailure(one)))
	}
	return table.Flush()
}

// lastFailure tells why an endpoint failed last, while it does.
func lastFailure(one client.WebhookEndpoint) string {
	switch {
	case one.Failures == 0:
		return "-"
	case one.LastError != nil:
		return *one.LastError
	case one.LastStatus != nil:
		return fmt.Sprintf("answered %d", *one.LastStatus)
	}
	return "-"
}

type webhooksRedeliverCommand struct {
	apiFlags
	Job     string    `help:"Those of this job."`
	Address string    `placeholder:"https://…" help:"Those to this address."`
	From    time.Time `placeholder:"2026-11-20T14:00:00+01:00" help:"Those whose event happened at this time or later."`
	To      time.Time `placeholder:"2026-11-20T15:00:00+01:00" help:"Those whose event happened before this time."`
}

// Run has them sent.
func (c *webhooksRedeliverCommand) Run(ctx context.Context, to terminal) error {
	which := client.FailedDeliveryFilter{JobID: c.Job, URL: c.Address}
	if !c.From.IsZero() {
		which.From = &c.From
	}
	if !c.To.IsZero() {
		which.To = &c.To
	}
	if which == (client.FailedDeliveryFilter{}) {
		return errors.New("name a job, an address or a time: --job, --address, --from, --to")
	}
	api, err := c.client()
	if err != nil {
		return err
	}
	count, err := api.RedeliverFailed(ctx, which)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(to.out, map[string]int{"count": count})
	}
	_, err = fmt.Fprintf(to.out, "%d webhooks will be sent once more\n", count)
	return err
}

type webhooksRotateSecretCommand struct{ apiFlags }

// Run rotates the secret of the key's consumer.
func (c *webhooksRotateSecretCommand) Run(ctx context.Context, to terminal) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	secret, until, err := api.RotateWebhookSecret(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(to.out, map[string]any{"secret": secret, "previousSignsUntil": until})
	}
	return showSecret(to, secret, until)
}

// showSecret prints a new secret, alone, on standard output.
func showSecret(to terminal, secret string, previousUntil time.Time) error {
	fmt.Fprintf(to.err, "the old secret signs too until %s\n", moment(&previousUntil))
	_, err := fmt.Fprintln(to.out, secret)
	return err
}

type consumersRotateSecretCommand struct {
	dataFlags
	Name string `arg:"" help:"The consumer's name."`
}

// Run rotates a consumer's secret beside the service.
func (c *consumersRotateSecretCommand) Run(ctx context.Context, to terminal) error {
	return c.withStore(ctx, func(s *store.Store) error {
		one, err := s.ConsumerByName(ctx, c.Name)
		if err != nil {
			return fmt.Errorf("consumer %q: %w", c.Name, err)
		}
		secret, until, err := account.RotateSecret(ctx, s, one.ID, time.Now())
		if err != nil {
			return err
		}
		return showSecret(to, secret, until)
	})
}

type consumersSetVersionCommand struct {
	dataFlags
	Name    string `arg:"" help:"The consumer's name."`
	Version int    `arg:"" enum:"1,2" help:"The version: 1 or 2."`
}

// Run sets the version of a consumer's payloads.
func (c *consumersSetVersionCommand) Run(ctx context.Context, to terminal) error {
	return c.withStore(ctx, func(s *store.Store) error {
		one, err := s.ConsumerByName(ctx, c.Name)
		if err != nil {
			return fmt.Errorf("consumer %q: %w", c.Name, err)
		}
		if err := s.SetWebhookVersion(ctx, one.ID, c.Version); err != nil {
			return err
		}
		_, err = fmt.Fprintf(to.out, "events of %s from now on have payloads of version %d\n", one.Name, c.Version)
		return err
	})
}
