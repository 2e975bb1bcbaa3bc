package dashboard

import (
	"context"
	"errors"
	"slices"
	"time"

	"standin/internal/account"
	"standin/internal/base/text"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
)

// shownTalk bounds the captions and messages of a running meeting on its page.
const shownTalk = 100

// meetingView is what happens in the meeting of a running job.
type meetingView struct {
	Shown     bool      // the bot is on its way, or in the meeting
	Stage     string    // what Since counts, such as "In the meeting for"
	Since     time.Time // zero when it is unknown
	Picture   time.Time // of the newest picture of the page; zero without one
	NoPicture string    // why there is none
	People    []person
	Talk      []talkView
	Quiet     string // why no more captions or messages come
}

// person is a participant who is in the meeting.
type person struct {
	job.Participant
	Speaking bool
}

// talkView is a caption or a message of a running meeting.
type talkView struct {
	At           time.Time
	Chat         bool
	Author, Text string
}

// readMeeting reads what happens in the meeting of a job.
func (d *Dashboard) readMeeting(ctx context.Context, as account.Caller, j job.Job, details lifecycle.Details,
	entries []job.TimelineEntry) (meetingView, error) {
	if !j.Status.Dispatched() || j.Status.Teardown() {
		return meetingView{}, nil
	}
	view := meetingView{Shown: true}
	view.Stage, view.Since = stageOf(j, entries)
	newest, err := d.Jobs.Screenshot(ctx, as, j.ID)
	switch refused, _ := errors.AsType[*job.Error](err); {
	case job.ErrorIs(err, job.InvalidState):
		view.NoPicture = text.Sentence(refused.Message)
	case err != nil:
		return view, err
	case newest.TakenAt.IsZero():
		view.NoPicture = noPicture(j)
	}
	view.Picture = newest.TakenAt
	for _, p := range details.Participants {
		view.People = append(view.People, person{p, slices.Contains(details.Speaking, p.ID)})
	}
	texts, err := d.Jobs.Store.LatestTexts(ctx, j.ID, shownTalk)
	if err != nil {
		return view, err
	}
	// What the live transcriber has heard replaces the captions of the platform.
	heard := slices.ContainsFunc(texts, func(t job.MeetingText) bool { return t.Kind == job.TranscriptText })
	for _, t := range texts {
		if t.Text == "" || heard && t.Kind == job.CaptionText {
			continue
		}
		view.Talk = append(view.Talk, talkView{At: t.StartedAt, Chat: t.Kind == job.ChatText, Author: t.Author, Text: t.Text})
	}
	view.Quiet = quietText(j, len(view.Talk) > 0)
	return view, nil
}

// stageOf returns how far a bot is and since when.
func stageOf(j job.Job, entries []job.TimelineEntry) (stage string, since time.Time) {
	status := j.Status
	switch {
	case status.InCall():
		stage, status = "In the meeting for", job.InMeeting
	case status == job.EnteringLobby:
		stage = "In the lobby for"
	default:
		stage = "Joining for"
	}
	for _, e := range slices.Backward(entries) {
		if e.Applied && e.To == status && e.From != status {
			return stage, e.ReceivedAt
		}
	}
	return stage, j.StartedAt
}

// noPicture says why there is no picture of the bot's page.
func noPicture(j job.Job) string {
	switch j.Status {
	case job.RecordingPaused:
		return "No picture is taken while the recording is paused."
	case job.RecordingStopped:
		return "No picture is taken after the recording was stopped."
	case job.PermissionRequested:
		return "No picture is taken before the host has agreed to the recording."
	case job.Dispatching:
		return "The bot is being started."
	}
	if on(j.Resolved().Consent.Required) && j.Status != job.RecordingStarted {
		return "No picture is taken before the host has agreed to the recording."
	}
	return "The first picture comes within a few seconds."
}

// quietText says why no more captions or messages come, if there is a reason.
func quietText(j job.Job, shown bool) string {
	options := j.Resolved()
	captions, chat := on(options.Captions.Enabled) || on(options.Transcript.Live), on(options.Chat)
	switch {
	case !j.Status.InCall():
		return "The bot is not in the meeting yet."
	case j.Status == job.RecordingPaused:
		return "The recording is paused: captions and chat are not kept."
	case j.Status == job.RecordingStopped:
		return "The recording was stopped: captions and chat are not kept."
	case j.Status == job.PermissionRequested:
		return "The host has not answered the request for permission to record."
	case !captions && !chat:
		return "Captions and chat are off for this job. You can turn them on when you send a bot."
	case !captions:
		return "Captions are off for this job, so only the chat is shown."
	case !chat:
		return "The chat of this job is not read, so only captions are shown."
	case !shown:
		return "Nothing was said or written yet."
	}
	return ""
}
