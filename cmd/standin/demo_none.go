//go:build !demo

package main

// extraCommands returns no command. Builds with the tag demo have the command demo.
func extraCommands() []extraCommand { return nil }
