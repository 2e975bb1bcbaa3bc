// Command withpostgres runs a command, such as go test, with a PostgreSQL server that the
// tests of all packages share. Without PostgreSQL, it only runs the command.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"standin/internal/testing/storetest"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			os.Exit(max(exit.ExitCode(), 1))
		}
		fmt.Fprintln(os.Stderr, "withpostgres:", err)
		os.Exit(1)
	}
}

func run(arguments []string) (err error) {
	if len(arguments) == 0 {
		return errors.New("usage: withpostgres COMMAND [ARGUMENT...]")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	command := exec.CommandContext(ctx, arguments[0], arguments[1:]...) //nolint:gosec // the command is the purpose of the program
	command.Stdin, command.Stdout, command.Stderr = os.Stdin, os.Stdout, os.Stderr
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	cluster, variable, err := storetest.StartShared(ctx)
	switch {
	case err == nil:
		defer func() { err = errors.Join(err, cluster.Stop()) }()
		command.Env = append(os.Environ(), variable)
	case !errors.Is(err, storetest.ErrMissing):
		return err
	}
	return command.Run()
}
