//go:build demo

package main

import (
	"standin/internal/cli"
	"standin/internal/demo"
)

// extraCommands returns the command demo.
func extraCommands() []cli.Subcommand { return []cli.Subcommand{demo.Subcommand()} }
