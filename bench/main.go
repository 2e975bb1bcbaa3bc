// Bench measures Standin beside bare servers that show the limit of the machine.
// It starts the real programs and loads them in turns, in rounds, so that what
// else happens on the machine affects all of them. See README.md.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"standin/bench/limit"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run runs a limit program if the first argument says so, and otherwise the
// benchmarks.
func run(ctx context.Context, args []string) error {
	if len(args) == 3 && args[0] == "limit" {
		return limit.Serve(ctx, os.Stdout, limit.Kind(args[1]), args[2])
	}
	o, err := parse(args)
	if err != nil {
		return err
	}
	return benchmark(ctx, o, describe(ctx, args))
}

// options are the flags.
type options struct {
	rounds    int
	duration  time.Duration // of one load
	rows      []string      // names; all but the slow ones when empty
	databases []string
	standin   string // path of the binary; built from the working directory when empty
	base      string // path of the binary to compare with; none when empty
	dir       string // for databases; a temporary directory when empty
	stored    int    // jobs of the row stored
	bots      int    // of the row heartbeat
	due       int    // jobs of the row dispatch
	logFiles  int    // of PostgreSQL, which exist before the first load

	fleetNodes, fleetBots int // of the row fleet
	heartbeatInterval     time.Duration

	hourBots, hourCreates, hourCalendars int // of the row hour
	hourRelay                            bool
	hourLength                           time.Duration

	docs string // Markdown document for the results; none when empty
	out  string // directory for results; none when empty
}

func parse(args []string) (o options, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	var rows, databases string
	flags.IntVar(&o.rounds, "rounds", 3, "rounds of each row")
	flags.DurationVar(&o.duration, "duration", 2*time.Second, "duration of one load")
	flags.StringVar(&rows, "rows", "", "comma-separated rows; default: all. The rows are "+strings.Join(rowNames(), ", "))
	flags.StringVar(&databases, "databases", sqlite+","+postgres, "comma-separated databases")
	flags.StringVar(&o.standin, "standin", "", "binary to measure; default: built from the working directory")
	flags.StringVar(&o.base, "base", "", "second binary, measured in the same rounds")
	flags.StringVar(&o.dir, "dir", "", "directory on the disk to measure; default: a temporary directory")
	flags.IntVar(&o.stored, "stored", 100_000, "stored jobs of the row stored")
	flags.IntVar(&o.bots, "bots", 7_900, "waiting bots of the row heartbeat; the service closes idle connections when 8,000 are open")
	flags.IntVar(&o.due, "due", 5_000, "due jobs of the row dispatch")
	flags.IntVar(&o.logFiles, "log-files", 64, "files of PostgreSQL's log, of 16 MB, that exist before the first load; at most 64 are kept")
	flags.IntVar(&o.fleetNodes, "fleet-nodes", 500, "simulated nodes of the row fleet")
	flags.IntVar(&o.fleetBots, "fleet-bots", 20_000, "simulated bots of the row fleet")
	flags.DurationVar(&o.heartbeatInterval, "heartbeat", 25*time.Second, "time between two heartbeats of a bot in the rows nodes and fleet")
	flags.IntVar(&o.hourBots, "hour-bots", 200, "recording bots of the row hour")
	flags.IntVar(&o.hourCreates, "hour-creates", 20, "jobs that are created per second meanwhile")
	flags.IntVar(&o.hourCalendars, "hour-calendars", 20, "calendars of 20 meetings that move, which are read in turn, ten per second")
	flags.BoolVar(&o.hourRelay, "hour-relay", false, "the service stores the media of the row hour, not the bots")
	flags.DurationVar(&o.hourLength, "hour-length", 30*time.Second, "how long the row hour measures")
	flags.StringVar(&o.out, "out", "", "directory for results.json, standin.txt and base.txt in benchstat format; default: none")
	flags.StringVar(&o.docs, "docs", "", "Markdown document into which results and plots are written; default: none")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("unexpected arguments %q", flags.Args())
	}
	o.rows, o.databases = list(rows), list(databases)
	for _, name := range o.rows {
		if !isRow(name) {
			return o, fmt.Errorf("unknown row %q; the rows are %s", name, strings.Join(rowNames(), ", "))
		}
	}
	for _, name := range o.databases {
		if name != sqlite && name != postgres {
			return o, fmt.Errorf("unknown database %q; the databases are %s and %s", name, sqlite, postgres)
		}
	}
	for _, path := range []*string{&o.standin, &o.base, &o.dir, &o.docs, &o.out} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return o, err
		}
	}
	return o, nil
}

// list returns the entries of a comma-separated list.
func list(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' })
}
