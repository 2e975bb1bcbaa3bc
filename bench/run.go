package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"standin/bench/report"
)

// contestant is a program that a row measures.
type contestant struct {
	program  string // standin, base, or the kind of a limit
	database string // empty without one
	scale    int    // size that the row varies; 0 when it does not
	measure  measureFunc
	close    func() error // may be nil
}

// row is a measurement, which fills one or more rows of the table.
type row struct {
	name  string // for the flag rows, and in benchstat's format
	table []report.Row
	slow  bool // runs only when it is named
	once  bool // runs for one round
	// prepare starts the contestants.
	prepare func(ctx context.Context, e *env) ([]contestant, error)
}

func rows() []row {
	return slices.Concat(requestRows(), webhookRows(), dispatchRows(), processRows(), growthRows(), fleetRows(), hourRows())
}

func rowNames() (names []string) {
	for _, r := range rows() {
		names = append(names, r.name)
	}
	return names
}

func isRow(name string) bool { return slices.Contains(rowNames(), name) }

// benchmark runs the rows and writes their results.
func benchmark(ctx context.Context, o options, how report.Run) error {
	e, err := newEnv(ctx, o)
	if err != nil {
		return err
	}
	var results []report.Result
	for _, r := range rows() {
		if len(o.rows) > 0 && !slices.Contains(o.rows, r.name) || len(o.rows) == 0 && r.slow {
			continue
		}
		start := time.Now()
		measured, err := e.measure(ctx, r)
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", r.name, err), e.logged(), e.close())
		}
		fmt.Fprintf(os.Stderr, "%s: %s\n", r.name, time.Since(start).Round(time.Second))
		results = append(results, measured...)
		if err := e.removeFolders(); err != nil {
			return errors.Join(err, e.close())
		}
	}
	if err := e.close(); err != nil {
		return err
	}
	return write(o, results, how)
}

// measure runs all rounds of a row. The contestants take turns, in an order
// that changes with each round.
func (e *env) measure(ctx context.Context, r row) (results []report.Result, err error) {
	contestants, err := r.prepare(ctx, e)
	defer func() {
		for _, c := range contestants {
			if c.close != nil {
				err = errors.Join(err, c.close())
			}
		}
	}()
	if err != nil {
		return nil, err
	}
	count := e.rounds
	if r.once {
		count = 1
	}
	for round := range count {
		for i := range contestants {
			c := contestants[(i+round)%len(contestants)]
			if c.measure == nil {
				continue // only closes what others use
			}
			metrics, err := c.measure(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s %s, round %d: %w", c.program, c.database, round, err)
			}
			results = append(results, report.Result{
				Row: r.name, Program: c.program, Database: c.database, Scale: c.scale, Round: round, Metrics: metrics,
			})
		}
	}
	return results, nil
}

// write prints the table and writes the files of the options.
func write(o options, results []report.Result, how report.Run) error {
	var table []report.Row
	for _, r := range rows() {
		for _, t := range r.table {
			t.Name = r.name
			table = append(table, t)
		}
	}
	report.Table(os.Stdout, table, results)
	var errs []error
	if o.out != "" {
		errs = append(errs, report.WriteFiles(o.out, results))
	}
	if o.docs != "" {
		errs = append(errs, report.Update(o.docs, table, results, how))
	}
	return errors.Join(errs...)
}
