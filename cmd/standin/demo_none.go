//go:build !demo

package main

import "standin/internal/cli"

// extraCommands returns no command. Builds with the tag demo have the command demo.
func extraCommands() []cli.Subcommand { return nil }
