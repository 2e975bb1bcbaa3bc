package client

import (
	"context"
	"io"
)

// Usage is what jobs have used.
type Usage struct {
	Jobs          int      `json:"jobs"` // that ended
	Completed     int      `json:"completed"`
	Failed        int      `json:"failed"`
	Cancelled     int      `json:"cancelled"`
	SuccessRate   *float64 `json:"successRate"` // share of completed jobs among those not cancelled; nil without such jobs
	RecordedHours float64  `json:"recordedHours"`
	BotMinutes    float64  `json:"botMinutes"` // from the first event of each bot until its job ended
	StoredBytes   int64    `json:"storedBytes"`
	DeletedBytes  int64    `json:"deletedBytes"`

	CoreHours      float64  `json:"coreHours"`      // of processors
	MemoryGiBHours float64  `json:"memoryGiBHours"` // of memory
	Price          *float64 `json:"price"`          // of both; nil if the service has no prices
}

// UsageReport is the usage of a team in the mode of the key.
type UsageReport struct {
	From      string     `json:"from"` // the first day (UTC)
	To        string     `json:"to"`   // the last day, which is included
	Total     Usage      `json:"total"`
	Days      []UsageDay `json:"days"`      // with use, in their order
	KeptBytes int64      `json:"keptBytes"` // of all recordings that are stored now
}

// UsageDay is the usage of a day.
type UsageDay struct {
	Date string `json:"date"`
	Usage
}

func usageRequest(from, to, format string) request {
	query := parameters(map[string]string{"format": format, "from": from, "to": to})
	return request{path: apiPath("usage"), query: query}
}

// Usage returns the usage from one day (UTC) to another, such as 2026-11-26, both included.
// Empty ones mean 29 days before the last day, and today.
func (c *Client) Usage(ctx context.Context, from, to string) (report UsageReport, err error) {
	_, err = c.call(ctx, usageRequest(from, to, "json"), &report)
	return report, err
}

// UsageCSV opens the same as a table of comma-separated values. The caller closes it.
func (c *Client) UsageCSV(ctx context.Context, from, to string) (io.ReadCloser, error) {
	return c.open(ctx, usageRequest(from, to, "csv"))
}
