package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/dustin/go-humanize"

	"standin/client"
	"standin/internal/jobs/job"
)

// usageRange is the range of days of a usage.
type usageRange struct {
	From string `placeholder:"DATE" help:"First day (UTC), such as 2026-11-01. Default: 29 days before the last."`
	To   string `placeholder:"DATE" help:"Last day, which is included. Default: today."`
	CSV  bool   `name:"csv" help:"Print a table of comma-separated values."`
}

type usageCommand struct {
	apiFlags
	usageRange
}

// Run prints the usage.
func (c *usageCommand) Run(ctx context.Context, to terminal, api *client.Client) error {
	if c.CSV {
		table, err := api.UsageCSV(ctx, c.From, c.To)
		if err != nil {
			return err
		}
		defer table.Close() // only read
		_, err = io.Copy(to.Out, table)
		return err
	}
	report, err := api.Usage(ctx, c.From, c.To)
	return c.print(to, report, err, func() error {
		var rows [][]string
		for _, day := range report.Days {
			rows = append(rows, append([]string{day.Date}, usageCells(day.Usage)...))
		}
		rows = append(rows, append([]string{"total"}, usageCells(report.Total)...))
		if err := to.table("DATE|"+usageHeader, rows); err != nil {
			return err
		}
		_, err := fmt.Fprintf(to.Err, "Stored now: %s\n", humanize.Bytes(uint64(report.KeptBytes)))
		return err
	})
}

const usageHeader = "COMPLETED|FAILED|CANCELLED|SUCCESS|RECORDED|BOT TIME|STORED|DELETED"

// usageCells returns the cells of usageHeader.
func usageCells(u client.Usage) []string {
	success := ""
	if u.SuccessRate != nil {
		success = fmt.Sprintf("%.1f%%", 100**u.SuccessRate)
	}
	return []string{
		strconv.Itoa(u.Completed), strconv.Itoa(u.Failed), strconv.Itoa(u.Cancelled), success,
		fmt.Sprintf("%.2f h", u.RecordedHours), fmt.Sprintf("%.1f min",
			u.BotMinutes), humanize.Bytes(uint64(u.StoredBytes)), humanize.Bytes(uint64(u.DeletedBytes)),
	}
}

type consumersUsageCommand struct {
	dataFlags
	outputFlags
	usageRange
	job.Prices
	Test bool `help:"The usage of test jobs."`
}

// shownTeamUsage is the JSON form of the usage of a team.
type shownTeamUsage struct {
	Team string `json:"team"`
	client.Usage
	KeptBytes int64 `json:"keptBytes"`
}

// Run prints the usage of each team.
func (c *consumersUsageCommand) Run(ctx context.Context, to terminal) error {
	from, until, err := job.UsageDays(c.From, c.To, time.Now())
	if err != nil {
		return err
	}
	mode := job.Live
	if c.Test {
		mode = job.Test
	}
	s, err := c.ProvideStore(ctx)
	if err != nil {
		return err
	}
	teams, err := s.TeamUsage(ctx, mode, from, until)
	if err != nil {
		return err
	}
	if c.CSV {
		_, err := to.Out.Write(job.TeamUsageCSV(teams, c.Prices))
		return err
	}
	shown := rows(teams, func(team job.TeamUsage) shownTeamUsage {
		return shownTeamUsage{team.Consumer, client.Usage(team.Fields(c.Prices)), max(0, team.Kept)}
	})
	return printTable(c.outputFlags, to, "TEAM|STORED NOW|"+usageHeader, shown, nil, func(team shownTeamUsage) []string {
		return append([]string{team.Team, humanize.Bytes(uint64(team.KeptBytes))}, usageCells(team.Usage)...)
	})
}
