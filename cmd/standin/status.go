package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"standin/client"
	"standin/internal/server/httpapi"
)

type statusCommand struct {
	apiFlags
	Ready bool `help:"Check only whether the service is ready. This needs no key."`
}

// serviceStatus is the JSON form of the status.
type serviceStatus struct {
	URL     string   `json:"url"`
	Ready   bool     `json:"ready"`
	Failing []string `json:"failing"` // names of checks
	Version string   `json:"version"` // of the service
	Email   string   `json:"email"`   // of the user who signed in; may be empty
	Team    string   `json:"team"`
	Key     string   `json:"key"`   // its name; may be empty
	Mode    string   `json:"mode"`  // of the key: live or test
	Scope   string   `json:"scope"` // of the key: read, jobs or admin
	Expires string   `json:"expiresAt,omitempty"`
	Client  string   `json:"client"` // version of this program
}

// Run shows the status.
func (c *statusCommand) Run(ctx context.Context, to terminal) error {
	access := credentials{URL: cmp.Or(c.URL, localURL)}
	if !c.Ready {
		var err error
		if access, err = c.access(); err != nil {
			return err
		}
	}
	status := serviceStatus{URL: access.URL, Failing: []string{}, Email: access.Email, Client: version()}
	if err := status.readiness(ctx); err != nil {
		return err
	}
	if c.Ready {
		return errors.Join(to.println(status.state()), status.problem())
	}
	api, err := client.New(access.URL, access.APIKey)
	if err != nil {
		return err
	}
	me, err := api.Me(ctx)
	if err != nil {
		return err
	}
	status.Version, status.Team, status.Key, status.Mode, status.Scope = me.Service.Version, me.Team.Name, me.Key.Name, me.Key.Mode,
		me.Key.Scope
	key := strings.TrimSpace(me.Key.Name + " (" + me.Key.Mode + ", " + me.Key.Scope + ")")
	if me.Key.ExpiresAt != nil {
		status.Expires = me.Key.ExpiresAt.UTC().Format(time.RFC3339)
		key += ", expires " + to.time(*me.Key.ExpiresAt)
	}
	err = c.print(to, status, nil, func() error {
		return to.properties([][2]string{
			{"service", status.URL}, {"state", status.state()}, {"version", status.Version}, {"signed in as", status.Email},
			{"team", status.Team}, {"key", key}, {"this program", status.Client},
		}...)
	})
	return errors.Join(err, status.problem())
}

// state describes the service in words.
func (s *serviceStatus) state() string {
	if s.Ready {
		return "ready"
	}
	return "not ready: " + strings.Join(s.Failing, ", ")
}

// problem returns an error if the service is not ready.
func (s *serviceStatus) problem() error {
	if s.Ready {
		return nil
	}
	return &hint{
		fmt.Errorf("the service is %s", s.state()), exitFailed, "The log of the service and the operator page of the dashboard say why.",
	}
}

// readiness asks the service whether it can do its work.
func (s *serviceStatus) readiness(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(s.URL, "/")+"/readyz", http.NoBody)
	if err != nil {
		return fmt.Errorf("create the request: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("%w: %w", client.ErrNotReached, err)
	}
	defer response.Body.Close()
	var readiness struct {
		Ready  bool                     `json:"ready"`
		Checks []httpapi.ReadinessCheck `json:"checks"`
	}
	const largest = 1 << 20
	if err := json.NewDecoder(io.LimitReader(response.Body, largest)).Decode(&readiness); err != nil {
		return fmt.Errorf("%s is not a Standin service: %w", s.URL, err)
	}
	s.Ready = readiness.Ready
	for _, check := range readiness.Checks {
		if !check.OK {
			s.Failing = append(s.Failing, check.Name)
		}
	}
	return nil
}
