package httpapi

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"standin/internal/account"
	"standin/internal/account/billing"
	"standin/internal/base/meetinglink"
	"standin/internal/calendar"
	"standin/internal/jobs/job"
	"standin/internal/server/httpapi/reference"
)

// hostMetrics serves the operation of that name of api/openapi.yaml.
func (a *API) hostMetrics(r *apiRequest) error {
	counts, err := a.Jobs.Store.CountActive(r.Context())
	if err != nil {
		return err
	}
	metrics := a.Host.Read(r.Context())
	for status, jobs := range counts {
		if status.Dispatched() {
			metrics.Bots.Running += jobs
		} else {
			metrics.Bots.Scheduled += jobs
		}
	}
	return r.respond(metrics, nil)
}

// forScraper serves requests with an operator's secret as a bearer token.
func (a *API) forScraper(handle handler) handler {
	return func(r *apiRequest) error {
		token, ok := r.bearer()
		for _, secret := range []string{a.MetricsSecret, a.AdminSecret} {
			if ok && secret != "" && account.SameSecret(token, secret) {
				return handle(r)
			}
		}
		return r.refuseSecret("Bearer", "Missing or invalid bearer token: it is the metrics secret or the admin secret.")
	}
}

// health responds as soon as the process is up.
func (a *API) health(r *apiRequest) error {
	r.Level = slog.LevelDebug
	return r.respondContent("text/plain; charset=utf-8", []byte("ok\n"))
}

// ReadinessCheck is the result of one check.
type ReadinessCheck struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
}

// readiness responds 503 if a check fails that the request does not exclude. Why it fails is not
// for everyone: it is in the log and on the operator page.
func (a *API) readiness(r *apiRequest) error {
	r.Level = slog.LevelDebug
	excluded := strings.Split(strings.Join(r.URL.Query()["exclude"], ","), ",")
	response := struct {
		Ready  bool             `json:"ready"`
		Checks []ReadinessCheck `json:"checks"`
	}{Ready: true, Checks: []ReadinessCheck{}}
	status := http.StatusOK
	for _, check := range a.Readiness() {
		if slices.Contains(excluded, check.Name) {
			continue
		}
		response.Checks = append(response.Checks, check)
		if !check.OK {
			response.Ready, status = false, http.StatusServiceUnavailable
		}
	}
	return r.respondStatus(status, response, nil)
}

// reference serves the page that shows the description.
func (a *API) reference(r *apiRequest) error {
	header := r.Header()
	header.Set("Content-Security-Policy", reference.Policy)
	header.Set("Referrer-Policy", "no-referrer")
	return r.respondContent("text/html; charset=utf-8", reference.Page)
}

// referenceAsset serves a script or a style of that page.
func (a *API) referenceAsset(r *apiRequest) error {
	content, mediaType, ok := reference.Asset(r.PathValue("name"))
	if !ok {
		return noSuchPath(r)
	}
	r.Header().Set("Cache-Control", "public, max-age=3600")
	return r.respondContent(mediaType, content)
}

func (a *API) describeYAML(r *apiRequest) error {
	text, err := a.descriptionYAML()
	if err != nil {
		return err
	}
	return r.respondContent("application/yaml", text)
}

// content serves a document.
func content(mediaType string, document []byte) handler {
	return func(r *apiRequest) error { return r.respondContent(mediaType, document) }
}

// securityTextLifetime is how long a copy of security.txt is valid.
const securityTextLifetime = 30 * 24 * time.Hour

// securityText serves security.txt (RFC 9116).
func (a *API) securityText(r *apiRequest) error {
	if a.SecurityContact == "" {
		return noSuchPath(r)
	}
	text := fmt.Sprintf("Contact: %s\nExpires: %s\nPreferred-Languages: en\n",
		a.SecurityContact, time.Now().UTC().Add(securityTextLifetime).Format(time.RFC3339))
	return r.respondContent("text/plain; charset=utf-8", []byte(text))
}

// receivePayment serves the operation of that name of api/openapi.yaml. The
// response to an unsigned request has no body, so that it gives nothing away.
func (a *API) receivePayment(r *apiRequest) error {
	if a.Payments == nil {
		return r.failWithoutBody(http.StatusServiceUnavailable, billing.ErrNoSecret)
	}
	signature := cmp.Or(r.Request.Header.Get(billing.Header), r.Request.Header.Get(billing.ProviderHeader))
	if signature == "" {
		return r.failWithoutBody(http.StatusBadRequest, billing.ErrSignature)
	}
	body, done, err := r.readBody(maxBodyBytes)
	if err != nil {
		return err
	}
	event, err := a.Payments.Decode(signature, body)
	done()
	var result billing.Result
	if err == nil {
		result, err = a.Payments.Apply(r.Context(), event)
	}
	if errors.Is(err, billing.ErrSignature) || job.ErrorIs(err, job.InvalidInput) {
		return r.failWithoutBody(http.StatusBadRequest, err)
	}
	return r.respond(struct {
		OK      bool `json:"ok"`
		Deduped bool `json:"deduped"`
	}{true, result.Deduped}, err)
}

func (a *API) intakeInvite(r *apiRequest, invite calendar.Invite) error {
	if isUnset(invite.JoinAt) {
		invite.JoinAt = time.Now()
	}
	result, err := a.Invites.Schedule(r.Context(), invite)
	if err != nil {
		return err
	}
	r.ConsumerID, r.JobID = result.ConsumerID, result.JobID
	r.warn(meetinglink.Warning(invite.MeetingURL, a.AllowedMeetingHosts...))
	status := http.StatusOK
	if result.Kind == calendar.Scheduled {
		status = http.StatusCreated
	}
	return r.respondStatus(status, result, nil)
}
