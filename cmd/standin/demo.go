//go:build demo

package main

import (
	"github.com/alecthomas/kong"

	"standin/internal/demo"
)

// extraCommands returns the command demo.
func extraCommands() []extraCommand {
	return []extraCommand{func(to terminal) kong.Option {
		return demo.Option(demo.Output{Out: to.out, Err: to.err, Screen: unescaped(to.err)})
	}}
}
