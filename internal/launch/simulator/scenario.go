package simulator

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"standin/internal/base/text"
	"standin/internal/jobs/job"
)

// stage is how far a bot gets.
type stage int

const (
	notOpened stage = iota
	joinPage        // where it clicks Join
	lobby
	meeting
)

// crashPoint is where a bot's process ends unexpectedly.
type crashPoint int

const (
	never crashPoint = iota
	whileJoining
	beforeRecording // in the meeting
	whileRecording  // after uploading the recording so far
)

// scenario describes what happens to the bots of a job.
type scenario struct {
	name string

	launchFails bool
	furthest    stage           // where a bot that fails does so
	failureCode job.FailureCode // empty: the meeting is recorded
	detail      string          // of the failure
	crashes     []crashPoint    // of each attempt; the last one applies to all later ones

	usesLobby      bool // before it is admitted
	asksPermission bool // to record, without a command
	permission     permission
	competitor     bool          // another notetaker is in the meeting
	duration       time.Duration // in the meeting, or in the lobby of a bot that gets no further

	failsOutput     bool // sounds are not played
	failsTranscript bool

	duplicates bool // every event is sent twice
	reorders   bool // two events are sent late
}

const (
	shortMeeting = 2 * time.Second
	longMeeting  = 30 * time.Second
)

// scenarios returns all scenarios; the first one is the default.
// docs/reference/outcomes.md describes them, and a test checks the description.
func scenarios() []scenario {
	list := []scenario{
		{name: "success"},
		{name: "lobby", usesLobby: true},
		{name: "slow_meeting", duration: longMeeting},

		{name: "permission_granted", asksPermission: true},
		{name: "permission_denied", asksPermission: true, permission: denied},
		{name: "permission_timeout", asksPermission: true, permission: timeout},
		{name: "competing_bot", competitor: true},
		{name: "output_failed", failsOutput: true, duration: longMeeting},
		{name: "transcript_failed", failsTranscript: true},

		{name: "duplicate_events", usesLobby: true, duplicates: true},
		{name: "disordered_events", usesLobby: true, reorders: true},

		{name: "second_attempt", crashes: []crashPoint{beforeRecording, never}},
		{name: "lost_bot", crashes: []crashPoint{beforeRecording}},
		{name: "lost_bot_media_saved", crashes: []crashPoint{whileRecording, whileJoining}},

		failure(job.WaitingForHost, lobby, "The host did not start the meeting."),
		failure(job.MeetingNotFound, joinPage, "The meeting page reports that the meeting does not exist."),
		failure(job.HostDeniedAdmission, lobby, "The host denied the request to join."),
		failure(job.RemovedFromMeeting, meeting, "The bot was removed before anything was recorded."),
		failure(job.MeetingEnded, meeting, "The meeting ended before anything was recorded."),
		failure(job.InternalError, joinPage, "The browser crashed and nothing was recorded."),
		{name: string(job.DispatchTimeout), launchFails: true},
		failure(job.NetworkLoss, meeting, "The connection to the meeting was lost and not regained."),
		{name: string(job.RecordingDisabled), furthest: meeting, failureCode: job.RecordingDisabled,
			detail:         "The host did not permit the recording.",
			asksPermission: true, permission: denied},
		failure(job.LobbyTimeout, lobby, "Nobody admitted the bot."),
		failure(job.AuthFailure, joinPage, "Only signed-in users can join: the meeting page asked to sign in."),
		failure(job.QuotaExceeded, notOpened, "The meeting quota is used up."),
	}
	for i := range list {
		if list[i].failureCode == "" {
			list[i].furthest = meeting
		}
		if list[i].permission == "" {
			list[i].permission = granted
		}
		if list[i].duration == 0 {
			list[i].duration = shortMeeting
		}
	}
	return list
}

// failure returns the scenario that fails with the code of its name.
func failure(code job.FailureCode, at stage, detail string) scenario {
	return scenario{name: string(code), furthest: at, failureCode: code, detail: detail, usesLobby: at == lobby}
}

// Outcomes returns the values of metadata.simulate; the first one is the
// default.
func Outcomes() []string {
	var names []string
	for _, c := range scenarios() {
		names = append(names, c.name)
	}
	return names
}

// crashAt returns where the bot of an attempt crashes.
func (c scenario) crashAt(attempt int) crashPoint {
	if len(c.crashes) == 0 {
		return never
	}
	return c.crashes[min(attempt, len(c.crashes)-1)]
}

// Limits of the options.
const (
	maxSeconds = 3600
	maxSpeed   = 100
	maxShown   = 60 // characters of the options that an error repeats
)

// permission is the imaginary host's answer to a request to record.
type permission string

const (
	granted permission = "granted"
	denied  permission = "denied"
	timeout permission = "timeout"
)

// options are what metadata.simulate asks for: a scenario and changes to it.
type options struct {
	scenario
	speed float64
}

// parseOptions returns what a job's option simulate asks for, or else metadata.simulate:
// the name of an outcome, or an object.
func parseOptions(requested *job.Simulation, metadata json.RawMessage) (options, error) {
	if requested != nil {
		return newOptions(*requested)
	}
	var fields job.Simulation
	var body struct {
		Simulate json.RawMessage `json:"simulate"`
	}
	if len(metadata) > 0 {
		if err := json.Unmarshal(metadata, &body); err != nil {
			return options{}, errors.New("the job's metadata is not a JSON object")
		}
	}
	switch value := bytes.TrimSpace(body.Simulate); {
	case len(value) == 0 || string(value) == "null":
	case value[0] == '"':
		if err := json.Unmarshal(value, &fields.Outcome); err != nil {
			return options{}, errors.New("metadata.simulate is malformed")
		}
	default:
		if err := decodeStrict(value, &fields); err != nil {
			return options{},
				fmt.Errorf("metadata.simulate must be the name of an outcome, or an object with outcome, seconds, speed and permission: %s",
					text.Cut(err.Error(), maxShown))
		}
	}
	return newOptions(fields)
}

// newOptions returns the scenario with its changes.
func newOptions(fields job.Simulation) (opts options, err error) {
	opts = options{scenario: scenarios()[0], speed: 1}
	if fields.Outcome != "" {
		at := slices.IndexFunc(scenarios(), func(c scenario) bool { return c.name == fields.Outcome })
		if at < 0 {
			return opts, fmt.Errorf("metadata.simulate: unknown outcome %q; the outcomes are %s", text.Cut(fields.Outcome, maxShown),
				strings.Join(Outcomes(), ", "))
		}
		opts.scenario = scenarios()[at]
	}
	if fields.Seconds != nil {
		if *fields.Seconds < 0 || *fields.Seconds > maxSeconds {
			return opts, fmt.Errorf("metadata.simulate.seconds must be from 0 to %d", maxSeconds)
		}
		opts.duration = time.Duration(*fields.Seconds * float64(time.Second))
	}
	if fields.Speed != nil {
		if *fields.Speed < 1 || *fields.Speed > maxSpeed {
			return opts, fmt.Errorf("metadata.simulate.speed must be from 1 to %d", maxSpeed)
		}
		opts.speed = *fields.Speed
	}
	if fields.Permission != "" {
		opts.permission = permission(fields.Permission)
		if !slices.Contains([]permission{granted, denied, timeout}, opts.permission) {
			return opts, fmt.Errorf("metadata.simulate.permission must be %s, %s or %s", granted, denied, timeout)
		}
	}
	return opts, nil
}

// decodeStrict rejects unknown fields, because a misspelled option would have
// no effect.
func decodeStrict(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
			return fmt.Errorf("%s must not be a %s", cmp.Or(wrong.Field, "it"), wrong.Value)
		}
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("unexpected data after the object")
	}
	return nil
}
