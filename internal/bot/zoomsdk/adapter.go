package zoomsdk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"standin/internal/bot/browser"
	"standin/internal/bot/meeting"
	"standin/internal/job"
)

const (
	// lookInterval paces the looks at the page while something is awaited.
	lookInterval = 100 * time.Millisecond
	// chatInterval is how often the SDK takes a chat message.
	chatInterval = 1100 * time.Millisecond
	// confirmTime is how long the SDK may take to go to the page after the
	// meeting, once it has said that it left.
	confirmTime = 1500 * time.Millisecond
)

// What Tidy acts on.
const (
	noticeAudio   = "joinAudio"    // the SDK waits for a click before it plays the meeting's sound
	noticeUnmuted = "microphoneOn" // the bot can be heard
)

// audioButton is what has to be clicked for sound where the SDK does not join
// the meeting's sound by itself: its interface has no call for that.
const audioButton = `document.querySelectorAll(".join-audio-by-voip__join-btn")`

// Adapter is the meeting.Adapter of platform zoom-sdk. It owns the server of
// its page, and is for one bot and one meeting at a time.
type Adapter struct {
	settings Settings
	limits   meeting.Limits
	web      meeting.Adapter // reads addresses
	server   *server
	now      func() time.Time

	mutex sync.Mutex
	there location // the meeting of the last Address
}

// New starts serving the page. ctx bounds the start only; Close ends it. The
// error is a *NotConfiguredError when the settings do not name a usable copy of
// the SDK and the credentials of an app.
func New(ctx context.Context, settings Settings, log *slog.Logger) (*Adapter, error) {
	if err := settings.Validate(); err != nil {
		return nil, err
	}
	profiles, err := meeting.Embedded()
	if err != nil {
		return nil, fmt.Errorf("load the profile of Zoom's web client: %w", err)
	}
	web, err := meeting.New(job.ZoomWeb, profiles)
	if err != nil {
		return nil, fmt.Errorf("make the adapter of Zoom's web client: %w", err)
	}
	lib, err := openLibrary(settings.Dir)
	if err != nil {
		return nil, &NotConfiguredError{Cause: err}
	}
	a := &Adapter{settings: settings, limits: profiles[job.ZoomWeb].Limits, web: web, now: time.Now}
	if a.server, err = serve(ctx, lib, a.ticket, a.service, log); err != nil {
		return nil, errors.Join(err, lib.Close())
	}
	log.Info("Zoom's Meeting SDK is served", "version", lib.version)
	return a, nil
}

// Close stops serving the page.
func (a *Adapter) Close() error {
	if err := a.server.close(); err != nil {
		return fmt.Errorf("close the page of Zoom's Meeting SDK: %w", err)
	}
	return nil
}

// Origin is the scheme, host and port that the bot's browser must be let load
// from, beside Zoom's own hosts.
func (a *Adapter) Origin() string { return a.server.origin() }

// Target returns the meeting's own address, whose host the operator may or may
// not allow. The bot opens the page of Address in its place. The error is a
// *meeting.AddressError.
func (a *Adapter) Target(meetingURL string) (string, error) {
	there, err := locate(a.web, meetingURL)
	return there.opened, err
}

// Address returns the address of the bot's own page, which from now on joins
// the meeting of the address that was given.
func (a *Adapter) Address(meetingURL string) (meeting.Address, error) {
	there, err := locate(a.web, meetingURL)
	if err != nil {
		return meeting.Address{}, err
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.there = there
	return meeting.Address{URL: a.server.address(), Passcode: there.passcode}, nil
}

// target is the meeting of the last Address.
func (a *Adapter) target() location {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.there
}

// service is Zoom's service that the meeting is on, when it is not the usual
// one.
func (a *Adapter) service() string { return a.target().service }

// ticket makes what the page joins the meeting with.
func (a *Adapter) ticket() (ticket, error) {
	there := a.target()
	signature, err := Signature(a.settings, there.number, Attendee, a.now())
	if err != nil {
		return ticket{}, fmt.Errorf("sign for the meeting: %w", err)
	}
	return ticket{
		MeetingNumber: there.number, Passcode: there.passcode, Token: there.token, Signature: signature,
	}, nil
}

// Join is described at meeting.Adapter. It waits until the SDK shows where it
// got to, because it tells the reason of a failure only then. A refusal that
// says nothing of the meeting is a *RefusedError.
func (a *Adapter) Join(ctx context.Context, page meeting.Page, options meeting.JoinOptions) error {
	name := beginning(plain(options.Name), a.limits.Name)
	if name == "" {
		name = job.DefaultDisplayName
	}
	var last meeting.Observation
	err := repeat(ctx, page, func(r report) (bool, error) {
		last = r.observation()
		switch {
		case last.Screen.Terminal():
			return false, &meeting.ScreenError{Observation: last}
		case r.Trouble != nil && last.Screen == meeting.Unknown:
			refused := RefusedError(*r.Trouble)
			return false, &refused
		case last.Screen == meeting.PreJoin:
			_, err := a.call(ctx, page, "join", name)
			return false, err
		}
		return last.Screen == meeting.HostAbsent || last.Screen == meeting.Lobby || last.Screen == meeting.InMeeting, nil
	})
	if err != nil && ctx.Err() != nil {
		return &meeting.ScreenError{Observation: last, Cause: ctx.Err()}
	}
	return err
}

// Observe is described at meeting.Adapter.
func (a *Adapter) Observe(ctx context.Context, page meeting.Page) (meeting.Observation, error) {
	r, err := look(ctx, page)
	if err != nil {
		return meeting.Observation{}, err
	}
	return r.observation(), nil
}

// Tidy is described at meeting.Adapter: it lets the SDK play the meeting's
// sound, and mutes the bot.
func (a *Adapter) Tidy(ctx context.Context, page meeting.Page, observation meeting.Observation) error {
	switch {
	case slices.Contains(observation.Notices, noticeAudio):
		if err := page.ClickElement(ctx, audioButton); err != nil && !passing(err) {
			return fmt.Errorf("joining the meeting's sound: %w", err)
		}
	case slices.Contains(observation.Notices, noticeUnmuted):
		if _, err := a.call(ctx, page, "mute"); err != nil && !passing(err) {
			return fmt.Errorf("muting the bot: %w", err)
		}
	}
	return nil
}

// Leave is described at meeting.Adapter. The SDK goes to the page after the
// meeting when Zoom has confirmed; a bot that went before would leave a ghost.
func (a *Adapter) Leave(ctx context.Context, page meeting.Page) error {
	var asked time.Time
	err := repeat(ctx, page, func(r report) (bool, error) {
		screen, _ := r.classify()
		switch {
		case r.Left || screen.Terminal() && asked.IsZero():
			return true, nil
		case asked.IsZero():
			asked = time.Now()
			_, err := a.call(ctx, page, "leave")
			return false, err
		}
		return screen == meeting.Ended && time.Since(asked) > confirmTime, nil
	})
	if err != nil {
		return fmt.Errorf("leaving the meeting: %w", err)
	}
	return nil
}

// SendChat is described at meeting.Adapter.
func (a *Adapter) SendChat(ctx context.Context, page meeting.Page, text string) error {
	for i, part := range parted(plain(text), a.limits.Chat) {
		if i > 0 {
			if err := pause(ctx, chatInterval); err != nil {
				return fmt.Errorf("sending a chat message: %w", err)
			}
		}
		if err := a.order(ctx, page, "chat", part); err != nil {
			return fmt.Errorf("sending a chat message: %w", err)
		}
	}
	return nil
}

// Pin is described at meeting.Adapter.
func (a *Adapter) Pin(ctx context.Context, page meeting.Page, participant meeting.Participant) error {
	r, err := look(ctx, page)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(r.People, func(p person) bool { return p.ID == participant.ID }) {
		return &meeting.ParticipantNotFoundError{Participant: participant}
	}
	if err := a.order(ctx, page, "pin", participant.ID); err != nil {
		return fmt.Errorf("pinning a participant: %w", err)
	}
	return nil
}

// AskPermission is described at meeting.Adapter. Where the SDK may not ask,
// because the host's settings do not allow it, the host is asked in the chat.
func (a *Adapter) AskPermission(ctx context.Context, page meeting.Page, name string) (meeting.AskMethod, error) {
	answer, err := a.call(ctx, page, "askPermission")
	switch {
	case err != nil:
		return "", fmt.Errorf("asking for permission to record: %w", err)
	case answer.OK:
		return meeting.AskByPage, nil
	}
	if name = plain(name); name == "" {
		name = job.DefaultDisplayName
	}
	question := fmt.Sprintf(`This is %s. May I record this meeting? Host, please answer "yes" or "no" in this chat.`, name)
	if err := a.SendChat(ctx, page, question); err != nil {
		return "", errors.Join(&CallError{Call: "askPermission", Code: answer.Code, Text: answer.Text}, err)
	}
	return meeting.AskByChat, nil
}

// ClosePermissionRequest is described at meeting.Adapter: the SDK's request opens nothing.
func (a *Adapter) ClosePermissionRequest(context.Context, meeting.Page) error { return nil }

// CallError says that the SDK did not do what it was asked for.
type CallError struct {
	Call string
	Code int    // the SDK's own; 0 when it gave none
	Text string // the SDK's own words
}

// Error repeats the SDK.
func (e *CallError) Error() string {
	return fmt.Sprintf("Zoom's Meeting SDK did not do %q (its error %d): %s", e.Call, e.Code, e.Text)
}

// answer is what became of a call.
type answer struct {
	OK   bool   `json:"ok"`
	Code int    `json:"code"`
	Text string `json:"text"`
}

// call makes one call of the page's handle.
func (a *Adapter) call(ctx context.Context, page meeting.Page, name string, arguments ...string) (answer, error) {
	encoded, err := json.Marshal(append([]string{}, arguments...))
	if err != nil {
		return answer{}, fmt.Errorf("encode the arguments of %q: %w", name, err)
	}
	var got answer
	err = page.Eval(ctx, fmt.Sprintf("window.standinZoom.%s(...%s)", name, encoded), &got)
	return got, err
}

// order is call for those whose failure is an error.
func (a *Adapter) order(ctx context.Context, page meeting.Page, name string, arguments ...string) error {
	got, err := a.call(ctx, page, name, arguments...)
	if err == nil && !got.OK {
		err = &CallError{Call: name, Code: got.Code, Text: got.Text}
	}
	return err
}

// repeat looks at the page at once and then again and again until act is done,
// fails, or ctx ends. Errors that pass are no failure.
func repeat(ctx context.Context, page meeting.Page, act func(report) (done bool, err error)) error {
	for {
		r, err := look(ctx, page)
		done := false
		if err == nil {
			done, err = act(r)
		}
		switch {
		case done:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !passing(err):
			return err
		}
		if err := pause(ctx, lookInterval); err != nil {
			return err
		}
	}
}

// passing reports whether an error comes from a page that changed under the
// call, so that the next look may well succeed.
func passing(err error) bool {
	var interrupted *browser.InterruptedError
	var element *browser.ElementError
	return errors.As(err, &interrupted) || errors.As(err, &element)
}

// pause waits, or returns the context's error.
func pause(ctx context.Context, length time.Duration) error {
	timer := time.NewTimer(length)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
