package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
)

// Usage reads what jobs have used. It is implemented by store.Store.
type Usage interface {
	Usage(ctx context.Context, consumer uuid.UUID, mode job.Mode, from, to time.Time) (job.UsageReport, error)
}

// usageBody is the UsageReport schema of api/openapi.yaml.
type usageBody struct {
	From  string          `json:"from"`
	To    string          `json:"to"`
	Total job.UsageFields `json:"total"`
	Days  []usageDayBody  `json:"days"`
	Kept  int64           `json:"keptBytes"`
}

// usageDayBody is the UsageDay schema of api/openapi.yaml.
type usageDayBody struct {
	Date string `json:"date"`
	job.UsageFields
}

func (a *API) getUsage(w http.ResponseWriter, r *http.Request, caller account.Caller) error {
	var query struct {
		From   string `json:"from"`
		To     string `json:"to"`
		Format string `json:"format"`
	}
	if err := a.readQuery(w, r, "getUsage", &query); err != nil {
		return err
	}
	from, to, err := job.UsageDays(query.From, query.To, time.Now())
	if err != nil {
		return err
	}
	report, err := a.settings.Usage.Usage(r.Context(), caller.ConsumerID, caller.Mode, from, to)
	if err != nil {
		return fmt.Errorf("read the usage: %w", err)
	}
	if query.Format == "csv" {
		a.write(w, http.StatusOK, "text/csv; charset=utf-8", report.CSV())
		return nil
	}
	body := usageBody{
		From: report.From.Format(time.DateOnly), To: report.To.Format(time.DateOnly),
		Total: report.Total.Fields(), Days: make([]usageDayBody, len(report.Days)), Kept: max(0, report.Kept),
	}
	for i, day := range report.Days {
		body.Days[i] = usageDayBody{day.Day.Format(time.DateOnly), day.Fields()}
	}
	a.writeJSON(w, http.StatusOK, body)
	return nil
}
