// Package logtail keeps the logs of services and bots, and shortens them for the output of failed
// tests, so that they do not hide the test's own messages.
package logtail

import "strings"

const (
	maxRows  = 30
	maxBytes = 300 // per row
)

// Last returns the last 30 lines of a log, each cut after 300 bytes.
func Last(log string) string {
	rows := strings.Split(strings.TrimRight(log, "\n"), "\n")
	rows = rows[max(0, len(rows)-maxRows):]
	for i, row := range rows {
		if len(row) > maxBytes {
			rows[i] = row[:maxBytes] + "…"
		}
	}
	return strings.Join(rows, "\n")
}
