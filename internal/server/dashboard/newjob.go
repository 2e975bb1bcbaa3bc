package dashboard

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"standin/api"
	"standin/internal/base/meetinglink"
	"standin/internal/base/text"
	"standin/internal/calendar"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/launch/simulator"
)

// newJobForm is the data of the form that sends a bot.
type newJobForm struct {
	Mode                                           job.Mode
	MeetingURL, DisplayName, JoinAt, ExternalID    string
	Title                                          string
	Platform, Metadata, OnStatusChange, OnFinalize string
	EntryDelay, Silence, Solo, Maximum             string
	LeaveOnBot                                     bool
	Captions, Chat, Transcript, AudioOnly, Consent bool
	Simulate                                       string
	FormID                                         string // of the page that was filled in
	Problem                                        string
	Detected                                       string // platform of the meeting URL
	Warning                                        string // why the meeting URL cannot lead to a meeting
	Platforms                                      []job.Platform
	Outcomes                                       []string
	Defaults                                       job.AutoLeave
	DefaultName                                    string
	NoCapacity                                     bool // no node can launch a bot
}

func (f newJobForm) filled() newJobForm {
	f.Platforms, f.FormID = job.Platforms(), cmp.Or(f.FormID, uuid.NewString())
	f.Outcomes, f.Defaults, f.DefaultName = simulator.Outcomes(), job.DefaultAutoLeave(), job.DefaultDisplayName
	if platform, _, ok := findMeeting(f.MeetingURL); ok {
		f.Detected = platform.Name()
	}
	return f
}

func (d *Dashboard) newJobPage(req *pageRequest) error {
	query := req.URL.Query()
	form := newJobForm{Mode: modeOf(query), MeetingURL: query.Get("meetingUrl"), Captions: true, Chat: true}
	if again := query.Get("again"); again != "" {
		earlier, _, err := d.findJob(req, again)
		if err != nil {
			return err
		}
		form = formOfJob(earlier)
	}
	form = form.filled()
	if _, address, _ := findMeeting(form.MeetingURL); form.Mode != job.Test {
		form.Warning = d.linkWarning(address)
	}
	capacity, err := d.Capacity(req.Context())
	if err != nil {
		return err
	}
	form.NoCapacity = len(capacity.Hosts) > 0 && capacity.Capacity == 0
	return req.show("newjob", "Send a bot", form)
}

// formOfJob returns the form filled in with the settings of a job, to send its bot again.
func formOfJob(j job.Job) newJobForm {
	options, leave, defaults := j.Resolved(), j.AutoLeave, job.DefaultAutoLeave()
	unless := func(seconds, usual int) string {
		if seconds == usual {
			return ""
		}
		return minutesOf(seconds)
	}
	form := newJobForm{
		Mode: j.Mode, MeetingURL: j.MeetingURL, DisplayName: j.DisplayName, Title: j.Title(), Platform: string(j.Platform),
		OnStatusChange: j.Webhooks.OnStatusChange, OnFinalize: j.Webhooks.OnFinalize, LeaveOnBot: leave.OnBotDetected,
		EntryDelay: unless(leave.AfterEntryDelaySeconds, defaults.AfterEntryDelaySeconds), Silence: unless(leave.AfterSilenceSeconds,
			defaults.AfterSilenceSeconds),
		Solo: unless(leave.AfterSoloSeconds, defaults.AfterSoloSeconds), Maximum: unless(leave.AfterMaxSeconds, defaults.AfterMaxSeconds),
		Captions: on(options.Captions.Enabled), Chat: on(options.Chat), Transcript: on(options.Transcript.Enabled),
		AudioOnly: options.Recording.Mode == job.RecordAudio, Consent: on(options.Consent.Required),
	}
	if text := string(j.Metadata); text != "{}" {
		form.Metadata = indented(j.Metadata)
	}
	if options.Simulate != nil {
		form.Simulate = options.Simulate.Outcome
	}
	return form
}

// on reports whether an option is set and true.
func on(option *bool) bool { return option != nil && *option }

// findMeeting returns the meeting URL in a text, which may be a whole
// invitation, and its platform.
func findMeeting(text string) (job.Platform, string, bool) {
	found, ok := calendar.ParseInvitation(text)
	return found.Platform, found.MeetingURL, ok
}

// detectPlatform returns the meeting in a text that the user is typing.
func (d *Dashboard) detectPlatform(req *pageRequest) error {
	platform, address, ok := findMeeting(job.Clip(req.URL.Query().Get("text"), 10_000))
	return req.writeJSON(map[string]any{
		"ok": ok, "warning": d.linkWarning(address), "name": platform.Name(), "address": address,
	})
}

// linkWarning returns why a meeting URL cannot lead to a meeting, or "".
func (d *Dashboard) linkWarning(address string) string {
	if address == "" {
		return ""
	}
	return meetinglink.Warning(address, d.AllowedMeetingHosts...)
}

// createJob sends a bot.
func (d *Dashboard) createJob(req *pageRequest) error {
	values := req.PostForm
	get, on := values.Get, func(name string) bool { return values.Get(name) == "on" }
	form := newJobForm{
		Mode: modeOf(values), MeetingURL: get("meetingUrl"), DisplayName: get("displayName"),
		JoinAt: get("joinAt"), ExternalID: strings.TrimSpace(get("externalId")), Platform: get("platform"),
		Metadata: get("metadata"), OnStatusChange: get("onStatusChange"), OnFinalize: get("onFinalize"),
		EntryDelay: get("entryDelay"), Silence: get("silence"), Solo: get("solo"), Maximum: get("maximum"),
		LeaveOnBot: on("leaveOnBot"), Simulate: get("simulate"), FormID: get("formId"),
		Title:    strings.TrimSpace(get("title")),
		Captions: on("captions"), Chat: on("chat"), Transcript: on("transcript"),
		AudioOnly: on("audioOnly"), Consent: on("consent"),
	}
	if form.ExternalID == "" && form.FormID != "" { // the same content of one page sent twice is one job
		form.ExternalID = fmt.Sprintf("dashboard-%x", sha256.Sum256([]byte(values.Encode())))
	}
	request, problem := form.request(values.Get("joinAtMoment"))
	if problem != "" {
		form.Problem, form.ExternalID = problem, strings.TrimSpace(values.Get("externalId"))
		return req.showStatus(http.StatusBadRequest, "newjob", "Send a bot", form.filled())
	}
	made, replayed, err := d.Jobs.Create(req.Context(), req.as(form.Mode), request)
	if err != nil {
		return err
	}
	path := "/jobs/" + made.ID.String()
	if replayed {
		path += "?note=replayed"
	}
	return req.redirect(path)
}

// request validates the form and returns the request, or a message about the
// first invalid field. moment is joinAt with the time zone of the browser, set by
// the script of the page.
func (f newJobForm) request(moment string) (request lifecycle.NewJob, problem string) {
	platform, address, ok := findMeeting(f.MeetingURL)
	if !ok {
		return request, "The meeting link must start with https:// and include a host, for example https://meet.google.com/abc-defg-hij."
	}
	if f.Platform != "" {
		if platform = job.Platform(f.Platform); platform.Name() == f.Platform {
			return request, "There is no such platform."
		}
	}
	request = lifecycle.NewJob{
		ExternalID: f.ExternalID, MeetingURL: address, Platform: platform,
		DisplayName: cmp.Or(text.CleanLine(f.DisplayName, 200), job.DefaultDisplayName),
		Webhooks:    job.Webhooks{OnStatusChange: strings.TrimSpace(f.OnStatusChange), OnFinalize: strings.TrimSpace(f.OnFinalize)},
	}
	if request.ExternalID == "" {
		request.ExternalID = "dashboard-" + uuid.NewString()
	}
	if len(request.ExternalID) > job.MaxExternalID {
		return request, fmt.Sprintf("The external ID can have %d bytes.", job.MaxExternalID)
	}
	if !utf8.ValidString(request.ExternalID) || strings.ContainsRune(request.ExternalID, 0) {
		return request, "The external ID contains characters that cannot be stored."
	}
	if len(address) > job.MaxURL {
		return request, fmt.Sprintf("The meeting link can have %d bytes.", job.MaxURL)
	}
	for _, hook := range []string{request.Webhooks.OnStatusChange, request.Webhooks.OnFinalize} {
		if hook != "" && (!isHTTPURL(hook) || len(hook) > job.MaxURL) {
			return request, fmt.Sprintf("A webhook URL must start with https:// or http:// and include a host. It can have %d bytes.", job.MaxURL)
		}
	}
	if f.JoinAt != "" {
		var err error
		for _, given := range [][2]string{ // UTC without the script, as the page says
			{time.RFC3339, moment}, {"2006-01-02T15:04", f.JoinAt}, {"2006-01-02T15:04:05", f.JoinAt},
		} {
			if request.JoinAt, err = time.Parse(given[0], given[1]); err == nil {
				break
			}
		}
		if err != nil {
			return request, "The time to join is invalid."
		}
	}
	if request.Metadata, problem = f.metadata(); problem != "" {
		return request, problem
	}
	chosen := func(on bool) *bool { // the other options keep their defaults
		if on {
			return &on
		}
		return nil
	}
	o := &request.Options
	o.Title = job.Clip(f.Title, 1000) // as in api/openapi.yaml
	o.Captions.Enabled, o.Chat, o.Transcript.Enabled = chosen(f.Captions), chosen(f.Chat), chosen(f.Transcript)
	o.Consent.Required = chosen(f.Consent)
	if f.AudioOnly {
		o.Recording.Mode = job.RecordAudio
	}
	leave := &request.AutoLeave
	*leave = job.DefaultAutoLeave()
	leave.OnBotDetected = f.LeaveOnBot
	for text, setting := range map[*string]*int{
		&f.EntryDelay: &leave.AfterEntryDelaySeconds, &f.Silence: &leave.AfterSilenceSeconds,
		&f.Solo: &leave.AfterSoloSeconds, &f.Maximum: &leave.AfterMaxSeconds,
	} {
		if *text == "" {
			continue
		}
		const day = 86400
		minutes, err := strconv.ParseFloat(*text, 64)
		if seconds := math.Round(60 * minutes); err == nil && seconds >= 1 && seconds <= day {
			*setting = int(seconds)
			continue
		}
		return request, "Leave times must be from a second to 1440 minutes."
	}
	return request, ""
}

// isHTTPURL reports whether a text is an absolute http or https URL.
func isHTTPURL(text string) bool {
	address, err := url.Parse(text)
	return err == nil && (address.Scheme == "https" || address.Scheme == "http") && address.Hostname() != ""
}

// metadata returns the JSON object of the form, with the outcome of the simulator
// in test mode.
func (f newJobForm) metadata() (json.RawMessage, string) {
	fields := make(map[string]json.RawMessage)
	if len(f.Metadata) > job.MaxMetadata {
		return nil, fmt.Sprintf("Metadata can have %d bytes.", job.MaxMetadata)
	}
	if text := strings.TrimSpace(f.Metadata); text != "" {
		if !utf8.ValidString(text) || json.Unmarshal([]byte(text), &fields) != nil || fields == nil {
			return nil, `Metadata must be a JSON object, for example {"team": "sales"}.`
		}
		if issues := api.CheckTexts([]byte(text)); len(issues) > 0 {
			return nil, "A text in the metadata " + issues[0].Message + "."
		}
	}
	if f.Mode == job.Test && f.Simulate != "" {
		fields["simulate"], _ = json.Marshal(f.Simulate) // texts always encode
	}
	metadata, err := text.EncodeJSON(fields)
	if err != nil {
		return nil, "The metadata cannot be stored."
	}
	return metadata, ""
}

// minutesOf returns seconds in minutes.
func minutesOf(seconds int) string { return strconv.FormatFloat(float64(seconds)/60, 'f', -1, 64) }
