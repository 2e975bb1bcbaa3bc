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

	"standin/internal/base/retry"
	"standin/internal/bot/meeting"
	"standin/internal/jobs/job"
)

const (
	// pollInterval is the time between reports while waiting for something.
	pollInterval = 100 * time.Millisecond
	// chatInterval is the shortest time between chat messages that the SDK
	// accepts.
	chatInterval = 1100 * time.Millisecond
	// leftTimeout is how long the SDK may take to open the page after the
	// meeting, once it has reported that it left.
	leftTimeout = 1500 * time.Millisecond
)

// The notices that HandleNotices acts on.
const (
	noticeAudio   = "joinAudio"    // the SDK waits for a click before it plays sound
	noticeUnmuted = "microphoneOn" // the bot can be heard
)

// audioButton selects the button for sound. It has to be clicked when the SDK
// does not join the meeting's audio on its own, which its interface cannot do.
const audioButton = `document.querySelectorAll(".join-audio-by-voip__join-btn")`

// Adapter is the meeting.Adapter of platform zoom-sdk. It owns the server of its
// page and serves one bot in one meeting at a time.
type Adapter struct {
	settings Settings
	limits   meeting.Limits
	web      meeting.Adapter // resolves URLs
	server   *server
	now      func() time.Time

	mutex  sync.Mutex
	target location // the meeting of the last Address
}

// New starts the server of the page. ctx limits the start only; Close stops the
// server.
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
		return nil, fmt.Errorf("create the adapter of Zoom's web client: %w", err)
	}
	lib, err := openLibrary(settings.Dir)
	if err != nil {
		return nil, notConfigured(fmt.Errorf("the folder named by %s cannot be used: %w", DirSetting, err))
	}
	a := &Adapter{settings: settings, limits: profiles[job.ZoomWeb].Limits, web: web, now: time.Now}
	service := func() string { return a.currentTarget().service }
	if a.server, err = startServer(ctx, lib, a.ticket, service, log); err != nil {
		return nil, errors.Join(err, lib.Close())
	}
	log.Info("serving Zoom's Meeting SDK", "version", lib.version)
	return a, nil
}

// Close stops the server of the page.
func (a *Adapter) Close() error {
	if err := a.server.close(); err != nil {
		return fmt.Errorf("close the server of Zoom's Meeting SDK: %w", err)
	}
	return nil
}

// Origin returns the scheme, host and port that the bot's browser must be
// allowed to load from, besides Zoom's own hosts.
func (a *Adapter) Origin() string { return a.server.origin() }

// Target returns the meeting's own URL, whose host the operator may or may not
// allow. The bot opens the page of Address instead. The error is a
// *meeting.AddressError.
func (a *Adapter) Target(meetingURL string) (string, error) {
	target, err := locate(a.web, meetingURL)
	return target.url, err
}

// Address returns the URL of the bot's own page, which from now on joins the
// meeting of the given URL.
func (a *Adapter) Address(meetingURL string) (meeting.Address, error) {
	target, err := locate(a.web, meetingURL)
	if err != nil {
		return meeting.Address{}, err
	}
	a.mutex.Lock()
	defer a.mutex.Unlock()
	a.target = target
	return meeting.Address{URL: a.server.origin() + joinPath + a.server.secret + "/", Passcode: target.passcode}, nil
}

// currentTarget returns the meeting of the last Address.
func (a *Adapter) currentTarget() location {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	return a.target
}

// ticket returns the data that the page joins the meeting with.
func (a *Adapter) ticket() (ticket, error) {
	target := a.currentTarget()
	signature, err := Signature(a.settings, target.number, a.now())
	if err != nil {
		return ticket{}, fmt.Errorf("sign for the meeting: %w", err)
	}
	return ticket{
		MeetingNumber: target.number, Passcode: target.passcode, Token: target.token, Signature: signature,
	}, nil
}

// Join implements meeting.Adapter. It waits until the SDK shows the lobby or the
// meeting, because the SDK reports the reason of a failure only then. A refusal
// that says nothing about the meeting is a *RefusedError.
func (a *Adapter) Join(ctx context.Context, page meeting.Page, options meeting.JoinOptions) error {
	name := meeting.Truncate(meeting.SingleLine(options.Name), a.limits.Name)
	if name == "" {
		name = job.DefaultDisplayName
	}
	var last meeting.Observation
	err := poll(ctx, page, func(r report) (bool, error) {
		last = r.observation()
		switch {
		case last.Screen.Terminal():
			return false, &meeting.ScreenError{Observation: last}
		case r.Failure != nil && last.Screen == meeting.Unknown:
			return false, (*RefusedError)(r.Failure)
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

// Observe implements meeting.Adapter.
func (a *Adapter) Observe(ctx context.Context, page meeting.Page) (meeting.Observation, error) {
	r, err := readReport(ctx, page)
	if err != nil {
		return meeting.Observation{}, err
	}
	return r.observation(), nil
}

// Arrange implements meeting.Adapter. The SDK's page shows only the meeting.
func (a *Adapter) Arrange(context.Context, meeting.Page, meeting.Observation, job.Layout) error {
	return nil
}

// HandleNotices implements meeting.Adapter: it lets the SDK play the meeting's sound, and
// mutes the bot.
func (a *Adapter) HandleNotices(ctx context.Context, page meeting.Page, observation meeting.Observation) error {
	switch {
	case slices.Contains(observation.Notices, noticeAudio):
		if err := page.ClickElement(ctx, audioButton); err != nil && !meeting.Transient(err) {
			return fmt.Errorf("join the meeting's audio: %w", err)
		}
	case slices.Contains(observation.Notices, noticeUnmuted):
		if _, err := a.call(ctx, page, "mute"); err != nil && !meeting.Transient(err) {
			return fmt.Errorf("mute the bot: %w", err)
		}
	}
	return nil
}

// Leave implements meeting.Adapter. The SDK opens the page after the meeting
// when Zoom has confirmed the end. Without waiting for it, the bot's tile would
// stay in the meeting.
func (a *Adapter) Leave(ctx context.Context, page meeting.Page) error {
	var calledAt time.Time
	err := poll(ctx, page, func(r report) (bool, error) {
		screen, _ := r.classify()
		switch {
		case r.Left || screen.Terminal() && calledAt.IsZero():
			return true, nil
		case calledAt.IsZero():
			calledAt = time.Now()
			_, err := a.call(ctx, page, "leave")
			return false, err
		}
		return screen == meeting.Ended && time.Since(calledAt) > leftTimeout, nil
	})
	if err != nil {
		return fmt.Errorf("leave the meeting: %w", err)
	}
	return nil
}

// SendChat implements meeting.Adapter.
func (a *Adapter) SendChat(ctx context.Context, page meeting.Page, text string) error {
	for i, part := range meeting.SplitText(meeting.SingleLine(text), a.limits.Chat) {
		if i > 0 {
			if err := retry.Sleep(ctx, chatInterval); err != nil {
				return fmt.Errorf("send a chat message: %w", err)
			}
		}
		if err := a.mustCall(ctx, page, "chat", part); err != nil {
			return fmt.Errorf("send a chat message: %w", err)
		}
	}
	return nil
}

// SetDevice implements meeting.Adapter. The SDK's page has no devices.
func (a *Adapter) SetDevice(_ context.Context, _ meeting.Page, device meeting.Device, _ bool) error {
	return fmt.Errorf("turn the %s on or off: %w", device, meeting.ErrNoDevice)
}

// Pin implements meeting.Adapter.
func (a *Adapter) Pin(ctx context.Context, page meeting.Page, participant meeting.Participant) error {
	r, err := readReport(ctx, page)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(r.People, func(p person) bool { return p.ID == participant.ID }) {
		return &meeting.ParticipantNotFoundError{Participant: participant}
	}
	if err := a.mustCall(ctx, page, "pin", participant.ID); err != nil {
		return fmt.Errorf("pin a participant: %w", err)
	}
	return nil
}

// AskPermission implements meeting.Adapter. When the host's settings do not
// allow the SDK's request, it asks in the chat.
func (a *Adapter) AskPermission(ctx context.Context, page meeting.Page, name string) (meeting.AskMethod, error) {
	answer, err := a.call(ctx, page, "askPermission")
	switch {
	case err != nil:
		return "", fmt.Errorf("ask for permission to record: %w", err)
	case answer.OK:
		return meeting.AskByPage, nil
	}
	if err := a.SendChat(ctx, page, meeting.PermissionQuestion(name)); err != nil {
		return "", errors.Join(answer.failed("askPermission"), err)
	}
	return meeting.AskByChat, nil
}

// ShowTexts implements meeting.Adapter. The SDK reports chat messages while the
// chat is closed. The bot does not read its captions.
func (a *Adapter) ShowTexts(_ context.Context, _ meeting.Page, options meeting.TextOptions) error {
	if options.Captions {
		return errors.New("turn on captions: not supported with Zoom's Meeting SDK")
	}
	return nil
}

// ReadPeople implements meeting.Adapter. The SDK lists all participants.
func (a *Adapter) ReadPeople(context.Context, meeting.Page) error { return nil }

// ClosePermissionRequest implements meeting.Adapter. The SDK's request opens
// nothing.
func (a *Adapter) ClosePermissionRequest(context.Context, meeting.Page) error { return nil }

// mustCall is call with an error when the SDK did not do what was asked.
func (a *Adapter) mustCall(ctx context.Context, page meeting.Page, name string, arguments ...string) error {
	got, err := a.call(ctx, page, name, arguments...)
	if err == nil && !got.OK {
		err = got.failed(name)
	}
	return err
}

// call calls a method of the page's window.standinZoom.
func (a *Adapter) call(ctx context.Context, page meeting.Page, name string, arguments ...string) (answer, error) {
	encoded, err := json.Marshal(append([]string{}, arguments...))
	if err != nil {
		return answer{}, fmt.Errorf("encode the arguments of %q: %w", name, err)
	}
	var got answer
	err = page.EvalInPage(ctx, fmt.Sprintf("window.standinZoom.%s(...%s)", name, encoded), &got)
	return got, err
}

// answer is the result of a call.
type answer struct {
	OK   bool
	Code int    // the SDK's own; 0 when it gave none
	Text string // the SDK's own message
}

// failed reports that the SDK did not do what it was asked to.
func (a answer) failed(call string) error {
	return fmt.Errorf("call %q of Zoom's Meeting SDK failed (its error %d): %s", call, a.Code, a.Text)
}

// poll reads reports until act is done or fails, or until ctx ends. Transient
// errors do not end it.
func poll(ctx context.Context, page meeting.Page, act func(report) (done bool, err error)) error {
	for {
		r, err := readReport(ctx, page)
		done := false
		if err == nil {
			done, err = act(r)
		}
		switch {
		case done:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && !meeting.Transient(err):
			return err
		}
		if err := retry.Sleep(ctx, pollInterval); err != nil {
			return err
		}
	}
}
