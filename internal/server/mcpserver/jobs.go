package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"standin/client"
)

// Limits of texts in results, in characters.
const (
	maxName = 200
	maxLink = 2000
	maxText = 2000
)

// jobResult is a job in a result.
type jobResult struct {
	JobID       string    `json:"jobId"`
	Status      string    `json:"status"`
	Ended       bool      `json:"ended" jsonschema:"Whether the status is final: completed, failed or cancelled."`
	Platform    string    `json:"platform"`
	JoinAt      time.Time `json:"joinAt"`
	CreatedAt   time.Time `json:"createdAt"`
	StartedAt   time.Time `json:"startedAt,omitzero" jsonschema:"When the bot opened the meeting."`
	FinalizedAt time.Time `json:"finalizedAt,omitzero" jsonschema:"When the recording was complete."`
	FailureCode string    `json:"failureCode,omitempty"`
	Untrusted   jobTexts  `json:"untrusted"`
}

// jobTexts are the texts of a job that other people may have written.
type jobTexts struct {
	Title         string `json:"title,omitempty" jsonschema:"Title of the meeting. Only in results of get_job and list_jobs."`
	MeetingURL    string `json:"meetingUrl"`
	ExternalID    string `json:"externalId"`
	FailureDetail string `json:"failureDetail,omitempty"`
}

func newJobResult(j client.Job) jobResult {
	return jobResult{
		JobID: j.ID, Status: j.Status, Ended: j.Ended(), Platform: j.Platform, JoinAt: j.JoinAt, CreatedAt: j.CreatedAt,
		StartedAt: zero(j.StartedAt), FinalizedAt: zero(j.FinalizedAt), FailureCode: zero(j.FailureCode),
		Untrusted: jobTexts{
			MeetingURL: quote(j.MeetingURL, maxLink), ExternalID: quote(j.ExternalID, maxLink), FailureDetail: quote(zero(j.FailureDetail), maxText),
		},
	}
}

// newDetailedResult returns a job with its title.
func newDetailedResult(d client.JobDetails) jobResult {
	result := newJobResult(d.Job)
	result.Untrusted.Title = quote(zero(d.Title), maxName)
	return result
}

// zero returns the value of a pointer, the zero value for nil.
func zero[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}

type sendBotInput struct {
	MeetingURL  string         `json:"meetingUrl" jsonschema:"Link of the meeting."`
	JoinAt      time.Time      `json:"joinAt,omitzero" jsonschema:"When the bot joins, in RFC 3339 with a time zone. Default: now."`
	Title       string         `json:"title,omitempty" jsonschema:"Title of the meeting, to find it again."`
	DisplayName string         `json:"displayName,omitempty" jsonschema:"Name of the bot in the meeting. Default: Standin, or the one of the team."`
	Recording   string         `json:"recording,omitempty" jsonschema:"What is recorded. With none, the bot only attends: who was there, captions and chat. Default: video, or the setting of the team."`
	Captions    bool           `json:"captions,omitempty" jsonschema:"Whether the bot turns on the captions of the meeting. get_transcript needs them while the meeting runs."`
	Chat        bool           `json:"chat,omitempty" jsonschema:"Whether the bot keeps the chat messages of the meeting."`
	Transcript  *bool          `json:"transcript,omitempty" jsonschema:"Whether the service makes a transcript of the recording. Default: the setting of the service."`
	Language    string         `json:"language,omitempty" jsonschema:"Language that is spoken, as a BCP 47 tag, for captions and transcript. Default: that of the meeting."`
	Live        bool           `json:"live,omitempty" jsonschema:"Whether the service also transcribes the meeting while it runs, if it can. get_transcript then returns what was said a few seconds ago."`
	Speak       bool           `json:"speak,omitempty" jsonschema:"Whether the bot may speak in the meeting. speak needs it."`
	Consent     bool           `json:"consent,omitempty" jsonschema:"Whether the bot asks the host for permission, and records only when it is granted. Default: the setting of the team."`
	ExternalID  string         `json:"externalId,omitempty" jsonschema:"Your own ID of this visit. A second call with the same one returns the first job. Default: a new one."`
	Simulate    *simulateInput `json:"simulate,omitempty" jsonschema:"What happens in the simulated meeting. Only with a test key, whose bots visit no real meeting."`
}

// simulateInput is client.Simulation with descriptions.
type simulateInput struct {
	Outcome    string   `json:"outcome,omitempty" jsonschema:"How the visit ends, such as lobby_timeout. Default: success."`
	Seconds    *float64 `json:"seconds,omitempty" jsonschema:"Length of the meeting, up to 3600."`
	Speed      float64  `json:"speed,omitempty" jsonschema:"How many times faster than a clock the meeting passes, 1 to 100."`
	Permission string   `json:"permission,omitempty" jsonschema:"Answer of the host when the bot asks for permission: granted, denied or timeout."`
}

type sendBotResult struct {
	labeled
	Existing bool      `json:"existing" jsonschema:"Whether the job existed: nothing new was sent."`
	Problem  string    `json:"problem,omitempty" jsonschema:"Why the link may not lead to a meeting."`
	Job      jobResult `json:"job"`
}

// sendBot sends a bot. Without an externalId, it returns the job of the same meeting
// instead of sending a second bot.
func (s session) sendBot(ctx context.Context, in sendBotInput) (sendBotResult, error) {
	options := client.Options{
		Title: in.Title, Captions: &client.TextOptions{Enabled: &in.Captions, Language: in.Language}, Chat: &in.Chat,
		Transcript: &client.TranscriptOptions{Enabled: in.Transcript, Language: in.Language}, Simulate: (*client.Simulation)(in.Simulate),
	}
	if in.Live {
		options.Transcript.Live = &in.Live
	}
	if in.Speak {
		options.Output = &client.OutputOptions{}
	}
	if in.Consent {
		options.Consent = &client.ConsentOptions{Required: &in.Consent}
	}
	request := client.NewJob{
		ExternalID: in.ExternalID, MeetingURL: in.MeetingURL, DisplayName: in.DisplayName,
		Recording: &client.Recording{Mode: in.Recording}, Options: options,
	}
	if !in.JoinAt.IsZero() {
		request.JoinAt = &in.JoinAt
	}
	if request.ExternalID == "" {
		request.ExternalID, request.Dedupe = "mcp-"+rand.Text(), true
	}
	created, existing, err := s.api.CreateJob(ctx, request)
	return sendBotResult{label(), existing, created.Warning, newJobResult(created)}, err
}

type listJobsInput struct {
	Status   []string  `json:"status,omitempty" jsonschema:"Only jobs with one of these statuses. Default: all."`
	JoinFrom time.Time `json:"joinFrom,omitzero" jsonschema:"Only jobs that join at this time or later, in RFC 3339."`
	JoinTo   time.Time `json:"joinTo,omitzero" jsonschema:"Only jobs that join before this time, in RFC 3339."`
	Limit    int       `json:"limit,omitempty" jsonschema:"Maximum number of jobs."`
}

type listJobsResult struct {
	labeled
	Jobs []jobResult `json:"jobs" jsonschema:"Newest first."`
	More bool        `json:"more" jsonschema:"Whether more jobs match. Narrow the times to see them."`
}

func (s session) listJobs(ctx context.Context, in listJobsInput) (listJobsResult, error) {
	result := listJobsResult{labeled: label(), Jobs: []jobResult{}}
	for j, err := range s.api.JobsWithDetails(ctx, client.JobFilter{
		Status: strings.Join(in.Status, ","), JoinFrom: in.JoinFrom, JoinTo: in.JoinTo,
	}) {
		switch {
		case err != nil:
			return listJobsResult{}, err
		case len(result.Jobs) == in.Limit:
			result.More = true
			return result, nil
		}
		result.Jobs = append(result.Jobs, newDetailedResult(j))
	}
	return result, nil
}

type jobInput struct {
	JobID string `json:"jobId" jsonschema:"ID of the job, from send_bot or list_jobs."`
}

type getJobResult struct {
	labeled
	jobResult
	EndedAt         time.Time `json:"endedAt,omitzero"`
	DurationSeconds float64   `json:"durationSeconds,omitempty" jsonschema:"Length of the recording with its gaps."`
	HasRecording    bool      `json:"hasRecording"`
	Transcript      string    `json:"transcript,omitempty" jsonschema:"What get_transcript returns of an ended job: transcriber or captions. Missing if there is nothing."`
	Outcome         outcome   `json:"outcome"`
}

// outcome explains how a job stands or how it ended.
type outcome struct {
	Title  string `json:"title"`
	Text   string `json:"text"`
	Cause  string `json:"cause,omitempty" jsonschema:"Where the cause of a problem is: meeting, request or service."`
	Action string `json:"action,omitempty" jsonschema:"What to do next."`
	Stage  string `json:"stage,omitempty" jsonschema:"How far the bot got."`
}

// getJob returns a job and explains how it stands.
func (s session) getJob(ctx context.Context, in jobInput) (getJobResult, error) {
	d, err := s.api.JobDetails(ctx, in.JobID)
	if err != nil {
		return getJobResult{}, err
	}
	result := getJobResult{
		labeled: label(), jobResult: newDetailedResult(d), EndedAt: zero(d.EndedAt), DurationSeconds: zero(d.DurationSeconds),
		HasRecording: d.Recording != nil,
		Outcome: outcome{
			Title: quote(d.Outcome.Title, maxText), Text: quote(d.Outcome.Text, maxText), Cause: zero(d.Outcome.Cause),
			Action: quote(zero(d.Outcome.Action), maxText), Stage: quote(zero(d.Outcome.Stage), maxText),
		},
	}
	if d.Transcript != nil {
		result.Transcript = d.Transcript.Source
	}
	return result, nil
}

type leaveResult struct {
	Action string `json:"action" jsonschema:"leaving: the bot leaves and the recording is finished. cancelled: no bot had been sent, and none will be."`
}

// leave makes a bot leave, or cancels a job whose bot has not started.
func (s session) leave(ctx context.Context, in jobInput) (leaveResult, error) {
	j, err := s.api.Job(ctx, in.JobID)
	if err != nil {
		return leaveResult{}, err
	}
	if j.Status == "scheduled" || j.Status == "pending" {
		return leaveResult{"cancelled"}, s.api.CancelJob(ctx, in.JobID)
	}
	_, err = s.api.SendCommand(ctx, in.JobID, client.LeaveCall)
	return leaveResult{"leaving"}, err
}

type sendChatInput struct {
	JobID string `json:"jobId" jsonschema:"ID of the job, from send_bot or list_jobs."`
	Text  string `json:"text" jsonschema:"The message, as plain text. Everybody in the meeting can read it."`
}

type sendChatResult struct {
	Outcome string `json:"outcome" jsonschema:"sent, failed, or pending when the bot has not answered yet: it may still send the message."`
	Reason  string `json:"reason,omitempty" jsonschema:"Why it failed."`
}

// commandWait is how long a tool waits for the outcome of a command.
const commandWait = 10 * time.Second

// sendChat sends a chat message and waits for its outcome.
func (s session) sendChat(ctx context.Context, in sendChatInput) (sendChatResult, error) {
	command, err := s.api.SendChatMessage(ctx, in.JobID, in.Text)
	if err != nil {
		return sendChatResult{}, err
	}
	outcome, reason, err := s.awaitOutcome(ctx, in.JobID, command, map[string]string{"command_done": "sent", "command_failed": "failed"})
	return sendChatResult{outcome, reason}, err
}

type speakInput struct {
	JobID     string `json:"jobId" jsonschema:"ID of the job, from send_bot or list_jobs."`
	Text      string `json:"text" jsonschema:"What the bot says. Everybody in the meeting hears it."`
	Voice     string `json:"voice,omitempty" jsonschema:"Voice. Default: that of the service."`
	Language  string `json:"language,omitempty" jsonschema:"Language of the text, as a BCP 47 tag."`
	Interrupt bool   `json:"interrupt,omitempty" jsonschema:"Whether the bot stops what it is saying first. Otherwise it says this afterwards."`
}

type speakResult struct {
	Outcome string `json:"outcome" jsonschema:"speaking, spoken, failed, or pending when the bot has not begun yet, for example because it says something else first."`
	Reason  string `json:"reason,omitempty" jsonschema:"Why it failed."`
}

// speak says a text and waits until it is heard.
func (s session) speak(ctx context.Context, in speakInput) (speakResult, error) {
	command, err := s.api.Speak(ctx, in.JobID, client.SpokenText{
		Text: in.Text, Voice: in.Voice, Language: in.Language, Interrupt: in.Interrupt,
	})
	if err != nil {
		return speakResult{}, err
	}
	outcome, reason, err := s.awaitOutcome(ctx, in.JobID, command, map[string]string{
		"lifecycle.output_started": "speaking", "lifecycle.output_finished": "spoken", "lifecycle.output_failed": "failed",
		"command_failed": "failed",
	})
	return speakResult{outcome, reason}, err
}

type stopSpeakingResult struct {
	Outcome string `json:"outcome" jsonschema:"Always stopping."`
}

// stopSpeaking stops what the bot says and is to say.
func (s session) stopSpeaking(ctx context.Context, in jobInput) (stopSpeakingResult, error) {
	_, err := s.api.SendCommand(ctx, in.JobID, client.StopOutput)
	return stopSpeakingResult{"stopping"}, err
}

// awaitOutcome waits for the outcome of a command, as the kinds of timeline entries tell it.
func (s session) awaitOutcome(ctx context.Context, jobID, command string, outcomes map[string]string) (outcome, reason string, err error) {
	waiting, cancel := context.WithTimeout(ctx, commandWait)
	defer cancel()
	outcome = "pending"
	err = poll(waiting, func() (done bool, err error) {
		for entry, err := range s.api.Timeline(waiting, jobID) {
			if err != nil {
				return false, err
			}
			var data struct{ CommandID, Reason string }
			if known := outcomes[entry.Kind]; known != "" && json.Unmarshal(entry.Data, &data) == nil && data.CommandID == command {
				outcome, reason, done = known, quote(data.Reason, maxText), true
			}
		}
		return done, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = nil
	}
	return outcome, reason, err
}

type participantsResult struct {
	labeled
	Live      bool         `json:"live" jsonschema:"Whether these are the people who are in the meeting now, as of a few seconds ago. Otherwise everybody who was there."`
	Untrusted participants `json:"untrusted"`
}

type participants struct {
	Participants []participant `json:"participants"`
}

type participant struct {
	Name     string    `json:"name"`
	JoinedAt time.Time `json:"joinedAt,omitzero"`
	LeftAt   time.Time `json:"leftAt,omitzero"`
}

// maxParticipants bounds the participants in a result.
const maxParticipants = 1000

// getParticipants returns who is in the meeting, or who was.
func (s session) getParticipants(ctx context.Context, in jobInput) (participantsResult, error) {
	j, err := s.api.Job(ctx, in.JobID)
	if err != nil {
		return participantsResult{}, err
	}
	result := participantsResult{labeled: label(), Live: !j.Ended(), Untrusted: participants{[]participant{}}}
	people := &result.Untrusted.Participants
	if j.Ended() {
		manifest, err := s.api.Manifest(ctx, in.JobID)
		if err != nil && !client.Is(err, "not_found") {
			return participantsResult{}, err
		}
		for _, p := range manifest.Participants[:min(len(manifest.Participants), maxParticipants)] {
			*people = append(*people, participant{quote(p.Name, maxName), p.JoinedAt, zero(p.LeftAt)})
		}
		return result, nil
	}
	for event, err := range s.api.LiveSoFar(ctx, in.JobID, "") {
		if err != nil {
			return participantsResult{}, err
		}
		if event.Name != "participants" {
			continue
		}
		var present struct{ Participants []struct{ Name string } }
		if err := json.Unmarshal(event.Data, &present); err != nil {
			return participantsResult{}, fmt.Errorf("read the participants: %w", err)
		}
		*people = (*people)[:0]
		for _, p := range present.Participants[:min(len(present.Participants), maxParticipants)] {
			*people = append(*people, participant{Name: quote(p.Name, maxName)})
		}
	}
	return result, nil
}
