package simulator

import (
	"context"
	"errors"
	"sync"
	"time"

	"standin/internal/ingest"
	"standin/internal/job"
	"standin/internal/launch"
)

// How long a bot takes for what it does, on its own clock.
const (
	openTime  = 200 * time.Millisecond // to open the page
	lobbyTime = time.Second            // to be let in
	startTime = 200 * time.Millisecond // to begin with recording, once it is in
	workTime  = 200 * time.Millisecond // for each step of putting the recording together
	hostTime  = 300 * time.Millisecond // for the host's answer to a request for permission
)

// competitorName is the notetaker that is found in an imagined roster.
const competitorName = "Simulated Notetaker"

// Reasons why a meeting ended, as they stand in the manifest (contract, State
// machine).
const (
	reasonHostEnded  = "host_ended"
	reasonMaximum    = "max_duration"
	reasonCompetitor = "competing_bot"
	reasonCommand    = "left_on_command"
)

// errLost ends a bot without a word, as its course says.
var errLost = errors.New("the bot is lost, as was wished")

// ending is how a visit ended. It is an error so that a command to leave ends
// whatever the bot is waiting for.
type ending struct {
	reason string          // when the bot was in the meeting
	code   job.FailureCode // when it did not get there, or nothing can be recorded
	detail string
}

func (e *ending) Error() string { return "the visit is over: " + e.detail }

// bot is a simulated bot.
type bot struct {
	assignment launch.Assignment
	wish       wish
	settings   Settings
	clip       *clip

	pace  pace
	inbox *inbox
	late  []ingest.Event // held back by a course of disorder

	joinedAt, admittedAt, leftAt time.Time
	end                          *ending // nil while the visit goes on
	tape                         tape
	stopped                      bool // the recording, for good
}

func newBot(a launch.Assignment, wished wish, settings Settings, clip *clip) *bot {
	return &bot{
		assignment: a, wish: wished, settings: settings, clip: clip,
		pace: pace{clock: settings.Clock, speed: wished.speed}, inbox: newInbox(),
	}
}

// run takes the bot through its visit and hands in what it has. It returns nil
// when the service has everything.
func (b *bot) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var beating sync.WaitGroup
	beating.Go(func() { b.beat(ctx) })
	defer beating.Wait()
	defer cancel()

	err := b.visit(ctx)
	if !errors.As(err, &b.end) {
		return err
	}
	return b.handIn(ctx)
}

// visit goes to the meeting and stays until its end, which is an *ending; any
// other error ends the bot.
func (b *bot) visit(ctx context.Context) error {
	if err := b.approach(ctx); err != nil {
		return err
	}
	if err := b.tell(ctx, job.BotInMeeting, nil); err != nil {
		return err
	}
	b.admittedAt = b.pace.now()
	if err := b.stay(ctx, startTime); err != nil {
		return err
	}
	if b.wish.asks {
		if err := b.ask(ctx, ""); err != nil {
			return err
		}
	}
	switch {
	case b.wish.lostAt(b.assignment.Attempt) == unrecorded:
		return errLost
	case b.wish.fails != "":
		return b.failure()
	}
	if err := b.record(ctx); err != nil {
		return err
	}
	return b.attend(ctx)
}

// approach comes as far as being let in, or fails where the course says.
func (b *bot) approach(ctx context.Context) error {
	if b.wish.reaches == nowhere {
		return b.failure()
	}
	if err := b.stay(ctx, openTime); err != nil {
		return err
	}
	if err := b.tell(ctx, job.BotJoined, nil); err != nil {
		return err
	}
	b.joinedAt = b.pace.now()
	if err := b.stay(ctx, openTime); err != nil {
		return err
	}
	switch {
	case b.wish.lostAt(b.assignment.Attempt) == atDoor:
		return errLost
	case b.wish.reaches == door:
		return b.failure()
	case !b.wish.waits:
		return nil
	}
	if err := b.tell(ctx, job.BotEnteringLobby, nil); err != nil {
		return err
	}
	if b.wish.reaches == lobby {
		if err := b.stay(ctx, b.wish.stay); err != nil {
			return err
		}
		return b.failure()
	}
	return b.stay(ctx, lobbyTime)
}

func (b *bot) failure() error { return &ending{code: b.wish.fails, detail: b.wish.detail} }

// attend is in the recorded meeting until it ends.
func (b *bot) attend(ctx context.Context) error {
	if b.wish.competitor {
		found := ingest.EventData{DetectedBotName: competitorName, LeftMeeting: &b.assignment.AutoLeave.OnBotDetected}
		if err := b.tell(ctx, job.BotCompetingDetected, found); err != nil {
			return err
		}
		if b.assignment.AutoLeave.OnBotDetected {
			return &ending{reason: reasonCompetitor, detail: competitorName + " is in the meeting"}
		}
	}
	maximum := time.Duration(b.assignment.AutoLeave.AfterMaxSeconds) * time.Second
	if err := b.stay(ctx, min(b.wish.stay, maximum)); err != nil {
		return err
	}
	if b.wish.lostAt(b.assignment.Attempt) == recorded {
		return errors.Join(b.handOver(ctx), errLost)
	}
	if b.wish.stay > maximum {
		return &ending{reason: reasonMaximum, detail: "afterMaxSeconds has passed"}
	}
	return &ending{reason: reasonHostEnded, detail: "The simulated host ended the meeting."}
}

// stay lets time pass and obeys what comes in it; a command to leave makes it
// an *ending.
func (b *bot) stay(ctx context.Context, length time.Duration) error {
	end := b.pace.now().Add(length)
	for {
		for {
			command, ok := b.inbox.next()
			if !ok {
				break
			}
			if err := b.obey(ctx, command); err != nil {
				return err
			}
		}
		left := end.Sub(b.pace.now())
		if left <= 0 {
			return nil
		}
		if err := b.pace.pass(ctx, left, b.inbox.news); err != nil {
			return err
		}
	}
}

// handIn tells how the visit ended, and hands the recording in as a real bot
// does: the first attempt's bot finishes it, a later one leaves that to the
// service, which alone has what earlier attempts recorded.
func (b *bot) handIn(ctx context.Context) error {
	if !b.tape.begun() {
		code := b.end.code
		if code == "" {
			code = job.MeetingEnded // it was left before anything was recorded
		}
		return b.tell(ctx, job.BotExited, ingest.EventData{EndReason: b.end.reason, FailureCode: string(code), FailureDetail: b.end.detail})
	}
	if err := b.stopRecording(ctx); err != nil {
		return err
	}
	b.leftAt = b.pace.now()
	exited := ingest.EventData{EndReason: b.end.reason, Detail: b.end.detail}
	if b.assignment.Attempt > 0 {
		if err := b.handOver(ctx); err != nil {
			return err
		}
		return b.tell(ctx, job.BotExited, exited)
	}
	steps := []func() error{
		func() error { return b.tell(ctx, job.BotExited, exited) },
		func() error { return b.pace.pass(ctx, workTime, nil) },
		func() error { return b.tell(ctx, job.BotPostProcessing, nil) },
		func() error { return b.pace.pass(ctx, workTime, nil) },
		func() error { return b.tell(ctx, job.BotMediaUploading, nil) },
		func() error { return b.handOver(ctx) },
		func() error { return b.tell(ctx, job.ManifestFinalized, nil) },
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// report is what the bot saw of the meeting so far.
func (b *bot) report() ingest.Report {
	now := b.pace.now()
	report := ingest.Report{
		Attempt: b.assignment.Attempt, BotVersion: version,
		JoinedAt: b.joinedAt, AdmittedAt: b.admittedAt, LeftAt: b.leftAt,
		Parts: b.tape.stretches, Gaps: b.tape.gaps,
		People: people(b.admittedAt, b.leftAt), Speech: b.tape.speech(now),
	}
	if b.end != nil {
		report.EndReason, report.EndDetail = b.end.reason, b.end.detail
	}
	return report
}
