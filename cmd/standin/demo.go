//go:build demo

package main

import (
	"github.com/alecthomas/kong"

	"standin/internal/demo"
)

// extraCommands returns the command demo.
func extraCommands() []kong.Option { return []kong.Option{demo.Command()} }
