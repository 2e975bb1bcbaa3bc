package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"standin/internal/account"
	"standin/internal/account/billing"
	"standin/internal/calendar"
	"standin/internal/jobs/job"
	"standin/internal/server/httpapi/reference"
	"standin/internal/server/httpmw"
)

// JobCounts counts the jobs that have not ended.
type JobCounts interface {
	CountActive(ctx context.Context) (map[job.Status]int, error)
}

// hostMetrics serves the operation of that name of api/openapi.yaml.
func (a *API) hostMetrics(w http.ResponseWriter, r *http.Request) error {
	counts, err := a.JobCounts.CountActive(r.Context())
	if err != nil {
		return fmt.Errorf("count jobs: %w", err)
	}
	metrics := a.Host.Read(r.Context())
	for status, jobs := range counts {
		if status.Dispatched() {
			metrics.Bots.Running += jobs
		} else {
			metrics.Bots.Scheduled += jobs
		}
	}
	a.writeJSON(w, http.StatusOK, metrics)
	return nil
}

// metrics serves the metrics.
func (a *API) metrics(w http.ResponseWriter, r *http.Request) error {
	a.Metrics.ServeHTTP(w, r)
	return nil
}

// forScraper serves requests with an operator's secret as a bearer token.
func (a *API) forScraper(handle handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		token, ok := bearer(r)
		for _, secret := range []string{a.MetricsSecret, a.AdminSecret} {
			if ok && secret != "" && account.SameSecret(token, secret) {
				return handle(w, r)
			}
		}
		return a.refuseSecret(r, "Bearer", "Missing or invalid bearer token: it is the metrics secret or the admin secret.")
	}
}

// health responds as soon as the process is up.
func (a *API) health(w http.ResponseWriter, r *http.Request) error {
	httpmw.RecordOf(r).Level = slog.LevelDebug
	a.write(w, http.StatusOK, "text/plain; charset=utf-8", []byte("ok\n"))
	return nil
}

// Readiness knows whether this node can do its work. It must not block.
type Readiness interface {
	Readiness() []ReadinessCheck
}

// ReadinessCheck is the result of one check.
type ReadinessCheck struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
}

// readiness responds 503 if a check fails that the request does not exclude. Why it fails is not
// for everyone: it is in the log and on the operator page.
func (a *API) readiness(w http.ResponseWriter, r *http.Request) error {
	httpmw.RecordOf(r).Level = slog.LevelDebug
	excluded := strings.Split(strings.Join(r.URL.Query()["exclude"], ","), ",")
	response := struct {
		Ready  bool             `json:"ready"`
		Checks []ReadinessCheck `json:"checks"`
	}{Ready: true, Checks: []ReadinessCheck{}}
	status := http.StatusOK
	for _, check := range a.Readiness.Readiness() {
		if slices.Contains(excluded, check.Name) {
			continue
		}
		response.Checks = append(response.Checks, check)
		if !check.OK {
			response.Ready, status = false, http.StatusServiceUnavailable
		}
	}
	a.writeJSON(w, status, response)
	return nil
}

// reference serves the page that shows the description.
func (a *API) reference(w http.ResponseWriter, _ *http.Request) error {
	header := w.Header()
	header.Set("Content-Security-Policy", reference.Policy)
	header.Set("Referrer-Policy", "no-referrer")
	a.write(w, http.StatusOK, "text/html; charset=utf-8", reference.Page)
	return nil
}

// referenceAsset serves a script or a style of that page.
func (a *API) referenceAsset(w http.ResponseWriter, r *http.Request) error {
	content, mediaType, ok := reference.Asset(r.PathValue("name"))
	if !ok {
		return noSuchPath(w, r)
	}
	w.Header().Set("Cache-Control", "public, max-age=3600")
	a.write(w, http.StatusOK, mediaType, content)
	return nil
}

func (a *API) describe(w http.ResponseWriter, _ *http.Request) error {
	a.write(w, http.StatusOK, "application/json", a.description)
	return nil
}

func (a *API) describeYAML(w http.ResponseWriter, _ *http.Request) error {
	text, err := a.descriptionYAML()
	if err != nil {
		return err
	}
	a.write(w, http.StatusOK, "application/yaml", text)
	return nil
}

func (a *API) describeManifest(w http.ResponseWriter, _ *http.Request) error {
	a.write(w, http.StatusOK, "application/schema+json", a.Description.ManifestSchema())
	return nil
}

// checkSecurityContact checks a contact of security.txt (RFC 9116, section 2.5.3).
func checkSecurityContact(contact string) error {
	if contact == "" {
		return nil
	}
	parsed, err := url.Parse(contact)
	if err != nil || parsed.Scheme != "mailto" && parsed.Scheme != "https" || strings.ContainsFunc(contact, unicode.IsSpace) {
		return fmt.Errorf("the security contact %q is not a mailto or https URL", contact)
	}
	return nil
}

// securityTextLifetime is how long a copy of security.txt is valid.
const securityTextLifetime = 30 * 24 * time.Hour

// securityText serves security.txt (RFC 9116).
func (a *API) securityText(w http.ResponseWriter, r *http.Request) error {
	if a.SecurityContact == "" {
		return noSuchPath(w, r)
	}
	text := fmt.Sprintf("Contact: %s\nExpires: %s\nPreferred-Languages: en\n",
		a.SecurityContact, time.Now().UTC().Add(securityTextLifetime).Format(time.RFC3339))
	a.write(w, http.StatusOK, "text/plain; charset=utf-8", []byte(text))
	return nil
}

// receivePayment serves the operation of that name of api/openapi.yaml. The
// response to an unsigned request has no body, so that it gives nothing away.
func (a *API) receivePayment(w http.ResponseWriter, r *http.Request) error {
	if a.Payments == nil {
		return failWithoutBody(w, r, http.StatusServiceUnavailable, billing.ErrNoSecret)
	}
	signature := cmp.Or(r.Header.Get(billing.Header), r.Header.Get(billing.ProviderHeader))
	if signature == "" {
		return failWithoutBody(w, r, http.StatusBadRequest, billing.ErrSignature)
	}
	body, done, err := a.readBody(w, r, maxBodyBytes)
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
		return failWithoutBody(w, r, http.StatusBadRequest, err)
	}
	return a.respond(w, http.StatusOK, struct {
		OK      bool `json:"ok"`
		Deduped bool `json:"deduped"`
	}{true, result.Deduped}, err)
}

func (a *API) intakeInvite(w http.ResponseWriter, r *http.Request) error {
	var invite calendar.Invite
	if err := a.readRequest(w, r, "intakeInvite", &invite); err != nil {
		return err
	}
	if isUnset(invite.JoinAt) {
		invite.JoinAt = time.Now()
	}
	result, err := a.Invites.Schedule(r.Context(), invite)
	if err != nil {
		return fmt.Errorf("schedule an invite: %w", err)
	}
	record := httpmw.RecordOf(r)
	record.ConsumerID, record.JobID = result.ConsumerID, result.JobID
	warn(w, a.describeLink(invite.MeetingURL).warning)
	status := http.StatusOK
	if result.Kind == calendar.Scheduled {
		status = http.StatusCreated
	}
	a.writeJSON(w, status, result)
	return nil
}
