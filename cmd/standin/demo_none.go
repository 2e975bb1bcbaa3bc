//go:build !demo

package main

import "github.com/alecthomas/kong"

// extraCommands returns no command. Builds with the tag demo have the command demo.
func extraCommands() []kong.Option { return nil }
