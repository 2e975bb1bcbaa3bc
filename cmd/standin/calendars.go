package main

import (
	"context"
	"errors"
	"fmt"
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

type calendarsConnectCommand struct {
	apiFlags
	Name            string   `arg:"" help:"Name of the calendar."`
	Provider        string   `enum:"feed,google,microsoft" default:"feed" help:"feed for an address in iCal format; google or microsoft for the API of the provider, with a refresh token for the OAuth client of the service."`
	AddressFile     string   `type:"existingfile" placeholder:"FILE" help:"File with the address of the calendar in iCal format, or the refresh token. Default: standard input."`
	CalendarID      string   `help:"ID of the calendar at the provider. Default: the main calendar of the owner."`
	Email           []string `help:"Email addresses of the owner, the main one first."`
	Record          []string `enum:"all,external,internal,organized,accepted,public,none" help:"Which meetings get a bot: all, accepted, organized, external, internal, public (not private) or none. Several must all hold: external,accepted. Default: accepted,public; without an email address public."`
	TitleMatches    string   `help:"Regular expression that titles must match."`
	MinParticipants int      `help:"Minimum number of participants."`
	Invite          string   `placeholder:"ADDRESS" help:"Account to add to the owner's meetings that get a bot; the token must permit it."`
	TellOrganizer   int      `placeholder:"MINUTES" help:"Mail the organizer so many minutes (up to 60) before a bot comes. Default: never."`
	PollSeconds     int      `default:"300" help:"How often the calendar is read, 60 to 900 seconds."`
}

// Run connects the calendar and reads it.
func (c *calendarsConnectCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	address, err := readSecret(c.AddressFile)
	if err != nil {
		return err
	}
	if address == "" {
		return errors.New("no address: pass the address of the calendar, or the refresh token, on standard input or with --address-file")
	}
	request := client.NewCalendar{
		Name: c.Name, Provider: c.Provider, ICSURL: address, CalendarID: c.CalendarID, PollSeconds: c.PollSeconds,
		Rules: &client.CalendarRules{
			Record: c.Record, TitleMatches: c.TitleMatches, MinParticipants: c.MinParticipants, Invite: c.Invite, TellOrganizer: c.TellOrganizer,
		},
	}
	if len(c.Email) > 0 {
		request.Email, request.Rules.Aliases = c.Email[0], c.Email[1:]
	}
	if c.Provider != "feed" {
		request.ICSURL, request.RefreshToken = "", address
	}
	connected, err := api.ConnectCalendar(ctx, request)
	if err != nil {
		return err
	}
	return syncCalendar(ctx, to, api, connected.ID, c.outputFlags, func(client.CalendarSync) error {
		events, err := collect(api.CalendarEvents(ctx, connected.ID), 0) // the service may have read it before
		if err != nil {
			return err
		}
		bots := 0
		for _, e := range events {
			if e.Record {
				bots++
			}
		}
		return to.printf(": upcoming meetings: %d, with a bot: %d\n", len(events), bots)
	})
}

type calendarsSyncCommand struct {
	apiFlags
	ID string `arg:"" help:"ID of the calendar."`
}

// Run reads the calendar.
func (c *calendarsSyncCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	return syncCalendar(ctx, to, api, c.ID, c.outputFlags, func(result client.CalendarSync) error {
		return to.printf(": meetings: %d added, %d updated, %d removed\n", result.Added, result.Updated, result.Removed)
	})
}

// syncCalendar reads a calendar and prints its state, and the rest with report.
func syncCalendar(ctx context.Context, to terminal, api *client.Client, id string, output outputFlags,
	report func(client.CalendarSync) error) error {
	result, err := api.SyncCalendar(ctx, id)
	return output.print(to, result, err, func() error {
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
func (c *calendarsListCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	return printList(c.outputFlags, to, "ID|NAME|RECORD|STATE|READ|ERROR", api.Calendars(ctx), 0, func(calendar client.Calendar) []string {
		return []string{
			calendar.ID, calendar.Name, strings.Join(calendar.Rules.Record, ","), calendar.State,
			to.maybe(calendar.SyncedAt), deref(calendar.Error),
		}
	})
}

type calendarsEventsCommand struct {
	apiFlags
	ID string `arg:"" help:"ID of the calendar."`
}

// Run lists the meetings.
func (c *calendarsEventsCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	return printList(c.outputFlags, to, "ID|START|TITLE|JOB|DECISION", api.CalendarEvents(ctx, c.ID), 0,
		func(event client.CalendarEvent) []string {
			return []string{event.ID, to.time(event.StartsAt), event.Title, deref(event.JobID), event.Reason}
		})
}

type calendarsSwitchCommand struct {
	apiFlags
	ID    string `arg:"" help:"ID of the calendar."`
	Event string `arg:"" help:"ID of the meeting, as events prints it."`
	To    string `arg:"" enum:"on,off,rules" help:"on, off or rules."`
}

// Run switches the meeting.
func (c *calendarsSwitchCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	var override *bool
	if c.To != "rules" {
		override = new(c.To == "on")
	}
	event, err := api.OverrideEvent(ctx, c.ID, c.Event, override)
	return c.printLine(to, event, err, oneLine(event.Reason))
}

type calendarsDisconnectCommand struct {
	apiFlags
	ID string `arg:"" help:"ID of the calendar."`
}

// Run disconnects the calendar.
func (c *calendarsDisconnectCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	err := api.DisconnectCalendar(ctx, c.ID)
	return c.print(to, map[string]any{"id": c.ID, "disconnected": true}, err, func() error { return nil })
}
