package dashboard

import (
	"net/http"

	"standin/internal/base/text"
	"standin/internal/jobs/webhook"
	"standin/internal/operation/alert"
)

// alertsView is the data of the page of alerts: what alerts there are, and where they go.
type alertsView struct {
	Enabled bool
	Webhook string   // host of the URL, which may have secrets; empty for none
	Mail    []string // addresses
	Rules   []alert.Status
	Tested  []alertTest
}

// alertTest is the result of a test alert.
type alertTest struct{ Way, Problem string }

func (d *Dashboard) showAlerts(req *pageRequest, status int, tested []alertTest) error {
	rules, err := d.Alerts.Status(req.Context())
	if err != nil {
		return err
	}
	options := d.Alerts.Options()
	return req.showStatus(status, "alerts", "Alerts", alertsView{
		Enabled: options.Enabled(), Webhook: webhook.HostOf(options.Webhook), Mail: options.Mail,
		Rules: rules, Tested: tested,
	})
}

// testAlerts sends a test alert by all ways.
func (d *Dashboard) testAlerts(req *pageRequest) error {
	results := d.Alerts.Test(req.Context())
	if len(results) == 0 {
		return &pageError{http.StatusConflict, "Alerts go nowhere. Set STANDIN_ALERT_WEBHOOK or STANDIN_ALERT_MAIL first."}
	}
	var tested []alertTest
	for _, way := range []string{"webhook", "mail"} {
		err, used := results[way]
		switch {
		case used && err != nil:
			tested = append(tested, alertTest{way, text.Sentence(err.Error())})
		case used:
			tested = append(tested, alertTest{Way: way})
		}
	}
	return d.showAlerts(req, http.StatusOK, tested)
}
