package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

type contextCommand struct {
	List contextListCommand `cmd:"" help:"List the services that you signed in to."`
	Use  contextUseCommand  `cmd:"" help:"Choose the service that commands call."`
}

type contextListCommand struct {
	configFlags
	outputFlags
}

// shownContext is the JSON form of a context, without its key.
type shownContext struct {
	Name    string `json:"name"`
	URL     string `json:"url"`
	Email   string `json:"email"`
	Current bool   `json:"current"`
}

// Run lists the contexts.
func (c *contextListCommand) Run(to terminal) error {
	stored, err := c.contexts()
	if err != nil && !errors.Is(err, errNotSignedIn) {
		return err
	}
	listed := []shownContext{}
	for _, name := range slices.Sorted(maps.Keys(stored.All)) {
		saved := stored.All[name]
		listed = append(listed, shownContext{Name: name, URL: saved.URL, Email: saved.Email, Current: name == stored.Current})
	}
	return printTable(c.outputFlags, to, "NAME|URL|E-MAIL|CURRENT", listed, nil, func(shown shownContext) []string {
		current := ""
		if shown.Current {
			current = "current"
		}
		return []string{shown.Name, shown.URL, shown.Email, current}
	})
}

type contextUseCommand struct {
	configFlags
	Name string `arg:"" predictor:"context" help:"Name of the context, from standin context list."`
}

// Run makes the context current.
func (c *contextUseCommand) Run(to terminal) error {
	stored, err := c.contexts()
	if err != nil {
		return err
	}
	chosen, found := stored.All[c.Name]
	if !found {
		return &hint{fmt.Errorf("there is no context %q", c.Name), exitFailed, "Run standin context list to see the contexts."}
	}
	stored.Current = c.Name
	if err := stored.save(); err != nil {
		return err
	}
	return to.printf("commands call %s\n", chosen.URL)
}
