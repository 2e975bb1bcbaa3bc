package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"standin/client"
	"standin/internal/account/device"
	"standin/internal/credentials"
)

// pollEvery is how often a sign-in asks whether it was authorized.
const pollEvery = 2 * time.Second

type loginCommand struct {
	configFlags
	URL       string `env:"STANDIN_URL" required:"" placeholder:"https://…" help:"The service to sign in to."`
	JSON      bool   `name:"json" help:"Print JSON, for programs, once signed in; link and code go to standard error."`
	NoBrowser bool   `help:"Only print the link; do not open a browser."`
	WithKey   bool   `help:"Read an API key from standard input instead, as in: standin keys create --consumer ada | standin login --with-key."`
}

// asks is how the page that lets a command line in is told which one asks.
func asks() string {
	agent := "standin " + version()
	if name, err := os.Hostname(); err == nil {
		agent += " on " + name
	}
	return agent + " (" + runtime.GOOS + ")"
}

// Run signs in.
func (c *loginCommand) Run(ctx context.Context, to terminal) error {
	dir, err := c.dir()
	if err != nil {
		return err
	}
	service, err := client.New(c.URL, "")
	if err != nil {
		return err
	}
	service = service.WithUserAgent(asks())
	grant, err := c.grant(ctx, to, service)
	if err != nil {
		return err
	}
	if err := credentials.Save(dir, credentials.Credentials{URL: service.BaseURL(), APIKey: grant.APIKey, Email: grant.Email}); err != nil {
		return err
	}
	who := grant.Email
	if who == "" {
		who = "the owner of the key"
	}
	if c.JSON {
		return printJSON(to.out, map[string]string{"url": service.BaseURL(), "email": grant.Email, "keptIn": credentials.Path(dir)})
	}
	fmt.Fprintf(to.out, "signed in to %s as %s; the key is kept in %s\n", service.BaseURL(), who, credentials.Path(dir))
	return nil
}

// grant gets a key: from standard input, where it must work, or by the device
// flow.
func (c *loginCommand) grant(ctx context.Context, to terminal, service *client.Client) (client.Grant, error) {
	if c.WithKey {
		const largestKey = 4 << 10
		line, err := io.ReadAll(io.LimitReader(os.Stdin, largestKey))
		if err != nil {
			return client.Grant{}, fmt.Errorf("read the key: %w", err)
		}
		grant := client.Grant{APIKey: strings.TrimSpace(string(line))}
		return grant, try(ctx, service.BaseURL(), grant.APIKey)
	}
	return c.deviceFlow(ctx, to, service)
}

// try makes sure that a key works, before it is kept.
func try(ctx context.Context, baseURL, key string) error {
	api, err := client.New(baseURL, key)
	if err != nil {
		return err
	}
	for _, err := range api.Jobs(ctx, client.JobFilter{}) {
		if err != nil {
			return fmt.Errorf("the key does not work: %w", err)
		}
		break
	}
	return nil
}

// deviceFlow has somebody allow this command line in a browser.
func (c *loginCommand) deviceFlow(ctx context.Context, to terminal, service *client.Client) (client.Grant, error) {
	login, err := service.StartLogin(ctx)
	if err != nil {
		return client.Grant{}, err
	}
	fmt.Fprintf(to.err, "Open this page and compare the code before you allow it:\n\n    %s\n\n    code: %s\n\n", login.VerifyURL, device.Code(login.Nonce))
	if !c.NoBrowser {
		openBrowser(login.VerifyURL)
	}
	fmt.Fprintf(to.err, "Waiting until %s …\n", login.ExpiresAt.Local().Format("15:04:05"))
	grant, err := service.AwaitLogin(ctx, login, pollEvery)
	if errors.Is(err, client.ErrLoginExpired) {
		return client.Grant{}, errors.New("nobody allowed it in time; run standin login again")
	}
	return grant, err
}

// openBrowser tries to open a page in the user's browser. Where there is none,
// the printed link does.
func openBrowser(address string) {
	name := "xdg-open"
	if runtime.GOOS == "darwin" {
		name = "open"
	}
	if _, err := exec.LookPath(name); err != nil {
		return
	}
	_ = exec.CommandContext(context.Background(), name, address).Start()
}

type logoutCommand struct {
	configFlags
	JSON bool `name:"json" help:"Print JSON, for programs."`
}

// Run forgets the key. It stays valid until it is revoked.
func (c *logoutCommand) Run(to terminal) error {
	dir, err := c.dir()
	if err != nil {
		return err
	}
	if err := credentials.Remove(dir); err != nil {
		return err
	}
	if c.JSON {
		return printJSON(to.out, map[string]bool{"signedOut": true})
	}
	fmt.Fprintln(to.out, "the key is gone from this machine; revoke it on the service if it may be known to others")
	return nil
}
