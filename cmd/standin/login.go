package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"time"

	"standin/client"
	"standin/internal/account/device"
)

type loginCommand struct {
	configFlags
	outputFlags
	URL       string `env:"STANDIN_URL" name:"url" default:"http://127.0.0.1:8080" help:"URL of the service."`
	Context   string `help:"Name under which the service is stored. Default: its host."`
	NoBrowser bool   `help:"Print the link without opening a browser."`
	WithKey   bool   `help:"Read an API key from standard input."`
}

// userAgent identifies this command line on the authorization page.
func userAgent() string {
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
	service = service.WithUserAgent(userAgent())
	var grant client.Grant
	if c.WithKey {
		if grant.APIKey, err = readSecret(""); err != nil {
			return err
		}
		api, err := client.New(service.BaseURL(), grant.APIKey)
		if err != nil {
			return err
		}
		if _, err := collect(api.Jobs(ctx, client.JobFilter{}), 1); err != nil {
			return fmt.Errorf("the key does not work: %w", err)
		}
	} else { // a user authorizes this command line in a browser
		login, err := service.StartLogin(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(to.Err, "Open this page and compare the code before you authorize the sign-in:\n\n    %s\n\n    code: %s\n\n",
			login.VerifyURL, device.Code(login.Nonce))
		if !c.NoBrowser {
			openBrowser(login.VerifyURL)
		}
		fmt.Fprintf(to.Err, "Waiting until %s …\n", login.ExpiresAt.Local().Format("15:04:05"))
		grant, err = service.AwaitLogin(ctx, login, 2*time.Second)
		if errors.Is(err, client.ErrLoginExpired) {
			return errors.New("the sign-in was not authorized in time; run standin login again")
		}
		if err != nil {
			return err
		}
	}
	err = saveContext(dir, c.Context, credentials{URL: service.BaseURL(), APIKey: grant.APIKey, Email: grant.Email})
	user := cmp.Or(grant.Email, "the owner of the key")
	signedIn := map[string]string{"url": service.BaseURL(), "email": grant.Email, "keptIn": credentialsPath(dir)}
	return c.printLine(to, signedIn, err, fmt.Sprintf("signed in to %s as %s; the key is stored in %s", service.BaseURL(), user,
		credentialsPath(dir)))
}

// openBrowser tries to open a page in the user's browser. Errors are ignored
// because the link is printed too.
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
	outputFlags
}

// Run deletes the stored key. The key stays valid until it is revoked.
func (c *logoutCommand) Run(to terminal) error {
	stored, err := c.contexts()
	if err != nil && !errors.Is(err, errNotSignedIn) {
		return err
	}
	if _, found := stored.All[stored.Current]; !found {
		return errors.New("not signed in")
	}
	delete(stored.All, stored.Current)
	if stored.Current = ""; len(stored.All) > 0 { // another context is not current until it is used
		err = stored.save()
	} else if err = os.Remove(stored.path); err != nil {
		err = fmt.Errorf("remove the credentials: %w", err)
	}
	return c.printLine(to, map[string]bool{"signedOut": true}, err,
		"the key was deleted from this machine; revoke it on the service if other people may have it")
}
