package dashboard

import (
	"context"
	"net/http"
	"slices"
	"time"

	"standin/internal/account"
	"standin/internal/text"
)

// Alerts describes the alerts that the service sends to its operators, and sends a test alert.
type Alerts interface {
	Alerts(ctx context.Context) (AlertsView, error)
	// Test sends a test alert and returns the errors by way: webhook and mail.
	Test(ctx context.Context) map[string]error
}

// AlertsView is what alerts there are, and where they go.
type AlertsView struct {
	Webhook  string   // host of the URL; empty for none
	Mail     []string // addresses
	Cooldown time.Duration
	Rules    []AlertRule
}

// Enabled reports whether alerts are sent anywhere.
func (v AlertsView) Enabled() bool { return v.Webhook != "" || len(v.Mail) > 0 }

// Every formats the cooldown.
func (v AlertsView) Every() string { return limitText(int(v.Cooldown.Seconds())) }

// AlertRule is a rule and its state.
type AlertRule struct {
	Name    string
	When    string      // it alerts, for people
	Setting string      // the environment variable of its threshold
	Off     bool        // by its setting
	On      bool        // it is checked
	Wrong   time.Time   // since when this node finds it wrong; zero while all is well
	Sent    []SentAlert // the last alert of each node, the latest first
}

// SentAlert is an alert that was sent.
type SentAlert struct {
	Node   string // empty for the whole service
	Firing bool   // nothing said since that all is well again
	At     time.Time
}

// Firing reports whether an alert of the rule was sent and not that all is well again.
func (r AlertRule) Firing() bool {
	return slices.ContainsFunc(r.Sent, func(sent SentAlert) bool { return sent.Firing })
}

// alertsPageView is the data of the page of alerts.
type alertsPageView struct {
	AlertsView
	Tested []alertTest
}

// alertTest is the result of a test alert.
type alertTest struct{ Way, Problem string }

func (d *Dashboard) alertsPage(req *pageRequest, _ account.Session) error {
	return d.showAlerts(req, nil)
}

func (d *Dashboard) showAlerts(req *pageRequest, tested []alertTest) error {
	shown, err := d.settings.Alerts.Alerts(req.r.Context())
	if err != nil {
		return err
	}
	return req.show("alerts", "Alerts", alertsPageView{shown, tested})
}

// testAlerts sends a test alert by all ways.
func (d *Dashboard) testAlerts(req *pageRequest, _ account.Session) error {
	if err := d.throttle(req); err != nil {
		return err
	}
	results := d.settings.Alerts.Test(req.r.Context())
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
	return d.showAlerts(req, tested)
}
