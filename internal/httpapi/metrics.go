package httpapi

import (
	"net/http"
	"strings"
)

// metricsPath is where metrics are shown. It is no operation of the
// description: what is there is the operator's alone, and changes with the
// version.
const metricsPath = "/metrics"

// routeMetrics shows the metrics to those who show the operator's secret as a
// bearer token, which is how scrapers show one. Where there is nothing to
// show, there is no such path.
func (a *API) routeMetrics() {
	if a.settings.Metrics == nil {
		return
	}
	a.mux.Handle("GET "+metricsPath, a.answering(func(w http.ResponseWriter, r *http.Request) error {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") {
			token = ""
		}
		for _, secret := range []string{a.settings.MetricsSecret, a.settings.AdminSecret} {
			if secret != "" && sameSecret(token, secret) {
				a.settings.Metrics.ServeHTTP(w, r)
				return nil
			}
		}
		if ok, wait := a.limits.guesses.Allow(a.addressKey(r)); !ok {
			return limited(wait)
		}
		return &failure{
			status: http.StatusUnauthorized, code: "unauthorized", message: "The credentials are missing or not valid.",
			challenge: "Bearer",
		}
	}))
	a.mux.Handle(metricsPath, a.answering(methodNotAllowed("GET, HEAD")))
}
