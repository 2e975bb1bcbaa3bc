package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"standin/internal/account/billing"
	"standin/internal/jobs/job"
)

// usageView is the data of the usage page.
type usageView struct {
	Mode     job.Mode
	Plan     billing.Plan
	From, To string // the range of days, as date inputs format them
	Ranges   []usageRange
	ByTeam   bool // for operators
	Report   job.UsageReport
	Days     []job.UsageDay // newest first
	Teams    []job.TeamUsage
	Total    job.Usage
	Kept     int64
	Used     string // of machines
	Plot     plot
	CSV      string // URL of the same as a table
	Problem  string
}

// usageRange is a range of days to choose.
type usageRange struct {
	Name, Address string
	Chosen        bool
}

// usageAddress returns the URL of the usage of a range.
func usageAddress(path, from, to string, byTeam bool) string {
	query := url.Values{"from": {from}, "to": {to}}
	if byTeam {
		query.Set("by", "team")
	}
	return path + "?" + query.Encode()
}

func (d *Dashboard) usagePage(req *pageRequest) error {
	query := req.URL.Query()
	shown, err := d.readUsage(req)
	if job.ErrorIs(err, job.InvalidInput) {
		_, shown.Problem = req.describe(err)
		shown.From, shown.To = query.Get("from"), query.Get("to")
		return req.showStatus(http.StatusBadRequest, "usage", "Usage", shown)
	}
	if err != nil {
		return err
	}
	shown.Plan, err = d.Jobs.Store.ConsumerPlan(req.Context(), req.User.ConsumerID)
	shown.Used = resourcesText(shown.Total.Resources, d.Jobs.Prices)
	return req.showAfter(err, "usage", "Usage", shown)
}

// resourcesText formats what bots used of machines, with its price if there is one.
func resourcesText(used job.Resources, prices job.Prices) string {
	if used == (job.Resources{}) {
		return ""
	}
	fields := used.Fields(prices)
	text := fmt.Sprintf("%.3g core hours · %.3g GiB hours", fields.CoreHours, fields.MemoryGiBHours)
	if fields.Price != nil {
		text += fmt.Sprintf(" · price %.3g", *fields.Price)
	}
	return text
}

// usageFile sends the usage as a table of comma-separated values.
func (d *Dashboard) usageFile(req *pageRequest) error {
	shown, err := d.readUsage(req)
	if err != nil {
		return err
	}
	table, name := shown.Report.CSV(d.Jobs.Prices), "usage"
	if shown.ByTeam {
		table, name = job.TeamUsageCSV(shown.Teams, d.Jobs.Prices), "usage-by-team"
	}
	return req.download("text/csv; charset=utf-8", name+"-"+shown.From+"-"+shown.To+".csv", table)
}

// readUsage reads the usage of the range in the query: that of the user's team, or for
// operators that of all teams.
func (d *Dashboard) readUsage(req *pageRequest) (usageView, error) {
	query, now := req.URL.Query(), d.Now().UTC()
	shown := usageView{Mode: modeOf(query), ByTeam: req.User.Operator && query.Get("by") == "team"}
	from, to, err := job.UsageDays(query.Get("from"), query.Get("to"), now)
	if err != nil {
		return shown, err
	}
	shown.From, shown.To = from.Format(time.DateOnly), to.Format(time.DateOnly)
	shown.CSV = usageAddress("/usage.csv", shown.From, shown.To, shown.ByTeam)
	month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
	for _, period := range []struct {
		name     string
		from, to time.Time
	}{
		{"7 days", now.AddDate(0, 0, -6), now}, {"30 days", now.AddDate(0, 0, -29), now}, {"90 days", now.AddDate(0, 0, -89), now},
		{"This month", month, now}, {"Last month", month.AddDate(0, -1, 0), month.AddDate(0, 0, -1)},
	} {
		first, last := period.from.Format(time.DateOnly), period.to.Format(time.DateOnly)
		shown.Ranges = append(shown.Ranges, usageRange{
			period.name, usageAddress("/usage", first, last, shown.ByTeam), first == shown.From && last == shown.To,
		})
	}
	if shown.ByTeam {
		if shown.Teams, err = d.Jobs.Store.TeamUsage(req.Context(), shown.Mode, from, to); err != nil {
			return shown, err
		}
		for _, team := range shown.Teams {
			shown.Total, shown.Kept = shown.Total.Plus(team.Usage), shown.Kept+team.Kept
		}
		return shown, nil
	}
	if shown.Report, err = d.Jobs.Store.Usage(req.Context(), req.as(shown.Mode), from, to); err != nil {
		return shown, err
	}
	shown.Total, shown.Kept, shown.Plot = shown.Report.Total, shown.Report.Kept, plotUsage(shown.Report)
	shown.Days = slices.Clone(shown.Report.Days)
	slices.Reverse(shown.Days)
	return shown, nil
}

// View returns the URL of the usage by day, or by team.
func (v usageView) View(byTeam bool) string { return usageAddress("/usage", v.From, v.To, byTeam) }

// hoursText formats a length of recordings.
func hoursText(d time.Duration) string {
	if d > 0 && d < time.Hour {
		return minutesText(d)
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}

// minutesText formats the time of bots.
func minutesText(d time.Duration) string {
	if d > 0 && d < time.Minute {
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return fmt.Sprintf("%.0f min", d.Minutes())
}

// successText formats a success rate; "–" without jobs that count.
func successText(u job.Usage) string {
	rate, ok := u.SuccessRate()
	if !ok {
		return "–"
	}
	return fmt.Sprintf("%.1f %%", 100*rate)
}
