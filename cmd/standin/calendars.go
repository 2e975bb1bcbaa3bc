package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"standin/client"
)

type calendarsCommand struct {
	Connect    calendarsConnectCommand    `cmd:"" help:"Connect a calendar. Reads its address or refresh token, which is a secret, from standard input or a file."`
	List       calendarsListCommand       `cmd:"" help:"List the connected calendars and their states."`
	Events     calendarsEventsCommand     `cmd:"" help:"List the upcoming meetings of a calendar: whether a bot comes, and why."`
	Sync       calendarsSyncCommand       `cmd:"" help:"Read a calendar now."`
	Switch     calendarsSwitchCommand     `cmd:"" help:"Switch a meeting on or off, or let the rules decide."`
	Disconnect calendarsDisconnectCommand `cmd:"" help:"Disconnect a calendar, and cancel the jobs that only it asks for."`
}

// largestAddress is the maximum size of an address or a refresh token in bytes.
const largestAddress = 4 << 10

type calendarsConnectCommand struct {
	apiFlags
	Name            string `arg:"" help:"Name of the calendar."`
	Provider        string `enum:"feed,google,microsoft" default:"feed" help:"feed for an address in iCal format; google or microsoft for the API of the provider, with a refresh token for the OAuth client of the service."`
	AddressFile     string `type:"existingfile" placeholder:"FILE" help:"File with the address of the calendar in iCal format, or the refresh token. Default: standard input."`
	CalendarID      string `help:"ID of the calendar at the provider. Default: the main calendar of the owner."`
	Email           string `help:"Email address of the owner."`
	Record          string `enum:"all,external,internal,organized,accepted,none" default:"all" help:"Which meetings get a bot: all, external, internal, organized, accepted or none."`
	TitleMatches    string `help:"Regular expression that titles must match."`
	MinParticipants int    `help:"Minimum number of participants."`
	PollSeconds     int    `default:"300" help:"How often the calendar is read, 60 to 900 seconds."`
}

// Run connects the calendar and reads it.
func (c *calendarsConnectCommand) Run(ctx context.Context, to terminal) error {
	address, err := c.address()
	if err != nil {
		return err
	}
	api, err := c.client()
	if err != nil {
		return err
	}
	request := client.NewCalendar{
		Name: c.Name, Provider: c.Provider, ICSURL: address, CalendarID: c.CalendarID, Email: c.Email, PollSeconds: c.PollSeconds,
		Rules: &client.CalendarRules{Record: c.Record, TitleMatches: c.TitleMatches, MinParticipants: c.MinParticipants},
	}
	if c.Provider != "feed" {
		request.ICSURL, request.RefreshToken = "", address
	}
	connected, err := api.ConnectCalendar(ctx, request)
	if err != nil {
		return err
	}
	return syncCalendar(ctx, to, api, connected.ID, c.outputFlags, func(client.CalendarSync) error {
		events, err := api.CalendarEvents(ctx, connected.ID) // the service may have read it before
		if err != nil {
			return err
		}
		bots := 0
		for _, e := range events {
			if e.Record {
				bots++
			}
		}
		_, err = fmt.Fprintf(to.Out, ": upcoming meetings: %d, with a bot: %d\n", len(events), bots)
		return err
	})
}

// address reads the address of the calendar, or the refresh token.
func (c *calendarsConnectCommand) address() (string, error) {
	file := os.Stdin
	if c.AddressFile != "" {
		opened, err := os.Open(c.AddressFile)
		if err != nil {
			return "", fmt.Errorf("open the file with the address: %w", err)
		}
		defer opened.Close()
		file = opened
	}
	text, err := io.ReadAll(io.LimitReader(file, largestAddress))
	if err != nil {
		return "", fmt.Errorf("read the address: %w", err)
	}
	address := strings.TrimSpace(string(text))
	if address == "" {
		return "", errors.New("no address: pass the address of the calendar, or the refresh token, on standard input or with --address-file")
	}
	return address, nil
}

type calendarsSyncCommand struct {
	apiFlags
	ID string `arg:"" help:"ID of the calendar."`
}

// Run reads the calendar.
func (c *calendarsSyncCommand) Run(ctx context.Context, to terminal) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	return syncCalendar(ctx, to, api, c.ID, c.outputFlags, func(result client.CalendarSync) error {
		_, err := fmt.Fprintf(to.Out, ": meetings: %d added, %d updated, %d removed\n", result.Added, result.Updated, result.Removed)
		return err
	})
}

// syncCalendar reads a calendar and prints its state, and the rest with report.
func syncCalendar(ctx context.Context, to terminal, api *client.Client, id string, output outputFlags, report func(client.CalendarSync) error) error {
	result, err := api.SyncCalendar(ctx, id)
	if err != nil {
		return err
	}
	return output.print(to, result, func() error {
		fmt.Fprintf(to.Out, "%s  %s", result.Calendar.ID, result.Calendar.State)
		if result.Calendar.Error != nil {
			fmt.Fprintln(to.Out)
			return fmt.Errorf("the calendar cannot be read: %s", oneLine(*result.Calendar.Error))
		}
		return report(result)
	})
}

type calendarsListCommand struct{ apiFlags }

// Run lists the calendars.
func (c *calendarsListCommand) Run(ctx context.Context, to terminal) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	calendars, err := api.Calendars(ctx)
	if err != nil {
		return err
	}
	return c.print(to, calendars, func() error {
		rows := make([][]string, len(calendars))
		for i, one := range calendars {
			rows[i] = []string{one.ID, one.Name, one.Rules.Record, one.State, to.maybe(one.SyncedAt), deref(one.Error)}
		}
		return to.table("ID|NAME|RECORD|STATE|READ|ERROR", rows)
	})
}

type calendarsEventsCommand struct {
	apiFlags
	ID string `arg:"" help:"ID of the calendar."`
}

// Run lists the meetings.
func (c *calendarsEventsCommand) Run(ctx context.Context, to terminal) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	events, err := api.CalendarEvents(ctx, c.ID)
	if err != nil {
		return err
	}
	return c.print(to, events, func() error {
		rows := make([][]string, len(events))
		for i, one := range events {
			rows[i] = []string{one.ID, to.time(one.StartsAt), one.Title, deref(one.JobID), one.Reason}
		}
		return to.table("ID|START|TITLE|JOB|DECISION", rows)
	})
}

type calendarsSwitchCommand struct {
	apiFlags
	ID    string `arg:"" help:"ID of the calendar."`
	Event string `arg:"" help:"ID of the meeting, as events prints it."`
	To    string `arg:"" enum:"on,off,rules" help:"on, off or rules."`
}

// Run switches the meeting.
func (c *calendarsSwitchCommand) Run(ctx context.Context, to terminal) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	var override *bool
	if c.To != "rules" {
		on := c.To == "on"
		override = &on
	}
	event, err := api.OverrideEvent(ctx, c.ID, c.Event, override)
	if err != nil {
		return err
	}
	return c.print(to, event, func() error {
		_, err := fmt.Fprintln(to.Out, oneLine(event.Reason))
		return err
	})
}

type calendarsDisconnectCommand struct {
	apiFlags
	ID string `arg:"" help:"ID of the calendar."`
}

// Run disconnects the calendar.
func (c *calendarsDisconnectCommand) Run(ctx context.Context, to terminal) error {
	api, err := c.client()
	if err != nil {
		return err
	}
	if err := api.DisconnectCalendar(ctx, c.ID); err != nil {
		return err
	}
	return c.print(to, map[string]any{"id": c.ID, "disconnected": true}, func() error { return nil })
}
