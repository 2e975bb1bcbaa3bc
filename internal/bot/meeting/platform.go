package meeting

import (
	"net/url"

	"standin/internal/job"
)

// platform holds what differs between platforms outside their profiles.
type platform struct {
	name     job.Platform
	elements []string // elements that the profile must define, besides those of every platform
	// resolve returns the address to open for an unwrapped URL.
	resolve func(*url.URL) (Address, error)
	// hasPermissionRequest is set when the page has its own way to ask the host
	// for permission to record.
	hasPermissionRequest bool
}
