package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"standin/internal/base/retry"
	"standin/internal/launch"
	"standin/internal/launch/kubernetes"
)

type nodeCommand struct {
	launch.LogSettings
	Name  string   `env:"STANDIN_NODE_NAME" required:"" help:"Name of the node."`
	Reach []string `default:"https://meet.google.com,https://teams.microsoft.com,https://zoom.us" help:"URLs that must answer."`
}

// Help describes the check.
func (nodeCommand) Help() string {
	return "Removes the taint standin.dev/unchecked from a node of Kubernetes once all URLs answer from it, such as those of the service " +
		"and the platforms, so that a new node gets bots only when they work there. Runs until it is stopped."
}

// Run admits bots to the node once all URLs answer.
func (c *nodeCommand) Run(ctx context.Context, to terminal) error {
	log := c.Logger(to.Err).With("node", c.Name)
	config, _, err := kubernetes.FindCluster("")
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		if err = c.reach(ctx); err == nil {
			err = kubernetes.AdmitBots(ctx, config, c.Name)
		}
		if err == nil {
			log.Info("bots may start")
			<-ctx.Done()
			break
		}
		log.Warn("no bots yet", "error", err)
		_ = retry.Sleep(ctx, 5*time.Second) // the end of ctx ends the loop
	}
	return nil
}

// reach returns an error unless all URLs answer; a server's own error is no answer.
func (c *nodeCommand) reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for _, url := range c.Reach {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultTransport.RoundTrip(request)
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		if response.StatusCode >= http.StatusInternalServerError {
			return fmt.Errorf("%s answers with status %d", url, response.StatusCode)
		}
	}
	return nil
}
