package job

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"
)

// Usage is what the jobs of a consumer have used that ended within some time.
type Usage struct {
	Completed, Failed, Cancelled int
	Recorded                     time.Duration // length of the recordings
	Bots                         time.Duration // from the first event of a job's bots until they have left the meeting
	StoredBytes                  int64         // of recordings that were stored
	DeletedBytes                 int64         // of recordings that were deleted
	Resources
}

// Resources are what bots have used of machines.
type Resources struct {
	Cores  time.Duration `json:"cores,omitempty"`  // of one processor
	Memory time.Duration `json:"memory,omitempty"` // of one GiB
}

// Plus returns the sum of two.
func (r Resources) Plus(other Resources) Resources {
	return Resources{r.Cores + other.Cores, r.Memory + other.Memory}
}

// Prices are what resources cost, in a currency of the operator's choice.
type Prices struct {
	CoreHour float64 `env:"STANDIN_PRICE_CORE_HOUR" name:"price-core-hour" default:"0" help:"Price of a core for an hour, in any currency."`
	GiBHour  float64 `env:"STANDIN_PRICE_GIB_HOUR" name:"price-gib-hour" default:"0" help:"Price of a GiB of memory for an hour."`
}

// ResourceFields are Resources in the units that people count, with at most four decimals.
type ResourceFields struct {
	CoreHours      float64  `json:"coreHours"`
	MemoryGiBHours float64  `json:"memoryGiBHours"`
	Price          *float64 `json:"price"` // nil without Prices
}

// Fields returns the resources with their price.
func (r Resources) Fields(prices Prices) ResourceFields {
	fields := ResourceFields{CoreHours: round(r.Cores.Hours()), MemoryGiBHours: round(r.Memory.Hours())}
	if prices != (Prices{}) {
		fields.Price = new(round(r.Cores.Hours()*prices.CoreHour + r.Memory.Hours()*prices.GiBHour))
	}
	return fields
}

// round returns a number with at most four decimals.
func round(x float64) float64 { return math.Round(x*1e4) / 1e4 }

// Jobs returns the number of jobs.
func (u Usage) Jobs() int { return u.Completed + u.Failed + u.Cancelled }

// SuccessRate returns the share of completed jobs among those that were not
// cancelled, from 0 to 1, and false without such jobs.
func (u Usage) SuccessRate() (float64, bool) {
	ended := u.Completed + u.Failed
	if ended == 0 {
		return 0, false
	}
	return float64(u.Completed) / float64(ended), true
}

// Plus returns the sum of two usages.
func (u Usage) Plus(other Usage) Usage {
	u.Completed += other.Completed
	u.Failed += other.Failed
	u.Cancelled += other.Cancelled
	u.Recorded += other.Recorded
	u.Bots += other.Bots
	u.StoredBytes += other.StoredBytes
	u.DeletedBytes += other.DeletedBytes
	u.Resources = u.Resources.Plus(other.Resources)
	return u
}

// UsageOf returns the usage of a job whose status changes at a time. The time of its bots ends when
// they have left the meeting, not when the recording is finalized.
func UsageOf(from, to Status, startedAt, now time.Time) (u Usage) {
	switch to {
	case Completed:
		u.Completed = 1
	case Failed:
		u.Failed = 1
	case Cancelled:
		u.Cancelled = 1
	}
	if left := to.Teardown() || to.Terminal(); left && !from.Teardown() && !startedAt.IsZero() {
		u.Bots = max(0, now.Sub(startedAt))
	}
	return u
}

// maxUsageDays bounds the days of a UsageReport.
const maxUsageDays = 366

// UsageReport is the usage of a consumer in one mode.
type UsageReport struct {
	From, To time.Time  // days (UTC), both included
	Days     []UsageDay // with usage, in their order
	Total    Usage      // of these days
	Kept     int64      // bytes of recordings that are stored now
}

// UsageDay is the usage of a day (UTC).
type UsageDay struct {
	Day time.Time
	Usage
}

// TeamUsage is the usage of a consumer.
type TeamUsage struct {
	ConsumerID uuid.UUID
	Consumer   string // name
	Usage
	Kept int64 // as of UsageReport
}

// UsageFields are a Usage in the units that people count.
type UsageFields struct {
	Jobs          int      `json:"jobs"`
	Completed     int      `json:"completed"`
	Failed        int      `json:"failed"`
	Cancelled     int      `json:"cancelled"`
	SuccessRate   *float64 `json:"successRate"` // nil without jobs that count
	RecordedHours float64  `json:"recordedHours"`
	BotMinutes    float64  `json:"botMinutes"`
	StoredBytes   int64    `json:"storedBytes"`
	DeletedBytes  int64    `json:"deletedBytes"`

	CoreHours      float64  `json:"coreHours"`
	MemoryGiBHours float64  `json:"memoryGiBHours"`
	Price          *float64 `json:"price"` // nil without Prices
}

// Fields returns the usage with at most four decimals.
func (u Usage) Fields(prices Prices) UsageFields {
	used := u.Resources.Fields(prices)
	fields := UsageFields{
		Jobs: u.Jobs(), Completed: u.Completed, Failed: u.Failed, Cancelled: u.Cancelled,
		RecordedHours: round(u.Recorded.Hours()), BotMinutes: round(u.Bots.Minutes()), StoredBytes: u.StoredBytes, DeletedBytes: u.DeletedBytes,
		CoreHours: used.CoreHours, MemoryGiBHours: used.MemoryGiBHours, Price: used.Price,
	}
	if rate, ok := u.SuccessRate(); ok {
		fields.SuccessRate = new(round(rate))
	}
	return fields
}

// csvNames are the names of Usage.csv.
func csvNames() []string {
	return []string{
		"jobs", "completed", "failed", "cancelled", "success_rate", "recorded_hours", "bot_minutes", "stored_bytes", "deleted_bytes",
		"core_hours", "memory_gib_hours", "price",
	}
}

// csv returns the fields as texts.
func (u Usage) csv(prices Prices) (texts []string) {
	f := u.Fields(prices)
	orEmpty := func(value *float64) any {
		if value == nil {
			return ""
		}
		return *value
	}
	for _, value := range []any{
		f.Jobs, f.Completed, f.Failed, f.Cancelled, orEmpty(f.SuccessRate), f.RecordedHours, f.BotMinutes, f.StoredBytes, f.DeletedBytes,
		f.CoreHours, f.MemoryGiBHours, orEmpty(f.Price),
	} {
		texts = append(texts, fmt.Sprint(value))
	}
	return texts
}

// writeCSV returns a table.
func writeCSV(rows [][]string) []byte {
	var table bytes.Buffer
	_ = csv.NewWriter(&table).WriteAll(rows) // a buffer can always be written
	return table.Bytes()
}

// CSV returns the days as a table.
func (r UsageReport) CSV(prices Prices) []byte {
	rows := [][]string{append([]string{"date"}, csvNames()...)}
	for _, d := range r.Days {
		rows = append(rows, append([]string{d.Day.Format(time.DateOnly)}, d.csv(prices)...))
	}
	return writeCSV(rows)
}

// TeamUsageCSV returns the usage of teams as a table. Names that a spreadsheet would take for
// formulas begin with an apostrophe.
func TeamUsageCSV(teams []TeamUsage, prices Prices) []byte {
	rows := [][]string{append([]string{"team", "kept_bytes"}, csvNames()...)}
	for _, t := range teams {
		name := t.Consumer
		if strings.ContainsAny(name[:min(len(name), 1)], "=+-@\t\r") {
			name = "'" + name
		}
		rows = append(rows, append([]string{name, fmt.Sprint(max(0, t.Kept))}, t.csv(prices)...))
	}
	return writeCSV(rows)
}

// UsageDays returns the first and the last day (UTC) of a range, both included, that is given
// as dates such as 2026-11-26. Empty ones mean today, and 29 days before the last day. The
// error is an *Error with InvalidInput that names the wrong field.
func UsageDays(from, to string, now time.Time) (first, last time.Time, err error) {
	day := func(name, text string, otherwise time.Time) (time.Time, error) {
		if text == "" {
			return otherwise, nil
		}
		at, err := time.Parse(time.DateOnly, text)
		if err != nil || at.Year() < 1970 {
			return at, NewInvalidInput(name+" must be a date such as 2026-11-26", name)
		}
		return at, nil
	}
	if last, err = day("to", to, now.UTC().Truncate(24*time.Hour)); err != nil {
		return first, last, err
	}
	if first, err = day("from", from, last.AddDate(0, 0, -29)); err != nil {
		return first, last, err
	}
	switch days := last.Sub(first).Hours()/24 + 1; {
	case days < 1:
		err = NewInvalidInput("from must not be after to", "from")
	case days > maxUsageDays:
		err = NewInvalidInput(fmt.Sprintf("the range may have at most %d days", maxUsageDays), "from")
	}
	return first, last, err
}
