package main

import (
	"fmt"
	"runtime/debug"
)

// build describes the binary.
type build struct {
	Version  string `json:"version"`  // the tag of the commit, or a pseudo-version; "(devel)" without a repository
	Commit   string `json:"commit"`   // empty when unknown
	Date     string `json:"date"`     // of the commit, RFC 3339; empty when unknown
	Modified bool   `json:"modified"` // built from files that differ from the commit
	Go       string `json:"go"`
}

type versionCommand struct{ outputFlags }

// Run prints the version, the commit and the commit's date.
func (c versionCommand) Run(to terminal) error {
	b := readBuild()
	return c.printLine(to, b, nil, b)
}

// String returns the version, the commit and the commit's date for people.
func (b build) String() string {
	text := "standin " + b.Version
	if b.Commit != "" {
		text += fmt.Sprintf(" (commit %s of %s", b.Commit, b.Date)
		if b.Modified {
			text += ", modified"
		}
		text += ")"
	}
	return text + ", " + b.Go
}

// readBuild reads the description that the Go toolchain puts into the binary.
func readBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return build{Version: "unknown"}
	}
	b := build{Version: info.Main.Version, Go: info.GoVersion}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Commit = setting.Value
		case "vcs.time":
			b.Date = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		}
	}
	if b.Version == "(devel)" && b.Commit != "" {
		b.Version = b.Commit[:min(12, len(b.Commit))]
	}
	return b
}

// version returns the version of the release, or the commit for a development build.
func version() string { return readBuild().Version }
