package pagecheck

import (
	"bytes"
	"context"
	"crypto/rand"
	_ "embed" // for the test card
	"errors"
	"fmt"
	"image/png"
	"slices"
	"strings"
	"sync"
	"time"

	"standin/internal/bot/meeting"
	"standin/internal/bot/output"
	"standin/internal/bot/session"
)

// Check is something that the companion does, and that the observer's page should show.
type Check struct {
	Name     string `json:"name"`
	State    string `json:"state"` // CheckSeen, CheckMissing or CheckUnchecked
	Expected string `json:"expected"`
	Seen     string `json:"seen,omitempty"`  // instead, or why it was not checked
	Entry    string `json:"entry,omitempty"` // of the profile: what finds it
}

// The states of checks.
const (
	CheckSeen      = "seen"
	CheckMissing   = "missing"
	CheckUnchecked = "unchecked"
)

const (
	actTime   = 15 * time.Second        // for an action on a page
	showTime  = 8 * time.Second         // for a page to show it
	quietTime = 2500 * time.Millisecond // before the companion speaks
	sentences = 20                      // that it says at most, until it was heard
)

// testCard is what the companion's camera shows: magenta, which pages hardly have.
//
//go:embed testcard.png
var testCard []byte

// encounter is the time of the canary's two bots in the meeting.
type encounter struct {
	*Canary
	observer, companion *session.Visitor
	checks              []Check
}

// check acts, and waits until shows returns true for the page of a bot. It does neither if a bot is not in the meeting,
// or if the check that it needs has not succeeded.
func (e *encounter) check(ctx context.Context, on *session.Visitor, name, needs, expected, entry string, act func(context.Context) error,
	shows func() bool) {
	check := Check{name, CheckUnchecked, expected, "a bot is not in the meeting", entry}
	switch {
	case e.observer.Problem != "" || e.companion.Problem != "":
	case needs != "" && !slices.ContainsFunc(e.checks, func(c Check) bool { return c.Name == needs && c.State == CheckSeen }):
		check.Seen = "not checked without " + needs
	default:
		acting, cancel := context.WithTimeout(ctx, actTime)
		err := act(acting)
		cancel()
		if err == nil && !on.Watch(ctx, showTime, shows) {
			seen := on.Last
			err = fmt.Errorf("%s with %d participants, %d messages (chat open: %t) and %d captions (on: %t)", seen.Screen,
				len(seen.Participants), len(seen.Chat), seen.ChatOpen, len(seen.Captions), seen.CaptionsOn)
		}
		if check.State, check.Seen = CheckSeen, ""; err != nil {
			check.State, check.Seen = CheckMissing, err.Error()
		}
	}
	e.checks = append(e.checks, check)
}

// run makes the checks in the meeting, at whose end the companion leaves.
func (e *encounter) run(ctx context.Context) {
	o, c, name := e.observer, e.companion, e.Bot.DisplayName+companionSuffix
	nothing := func(context.Context) error { return nil }
	readPeople := func(ctx context.Context) error { return o.Adapter.ReadPeople(ctx, o.Page) }
	named := func(entry meeting.RosterEntry) bool { return entry.Name() == name }
	listed := func() bool { return slices.ContainsFunc(o.Last.Rows, named) }
	tile := func(fits func(meeting.RosterEntry) bool) func() bool {
		return func() bool { return slices.ContainsFunc(o.Last.Captured.Snapshot.Tiles, fits) }
	}
	e.check(ctx, o, "people", "", "the companion in the list of people", "roster.rows, elements.peopleButton", readPeople, listed)
	e.check(ctx, o, "tile", "", "a tile of the companion", "roster.tiles", nothing,
		tile(func(entry meeting.RosterEntry) bool { return named(entry) || entry.Name() == "" }))
	e.check(ctx, o, "name", "tile", "the companion's name on its tile", "roster.name", nothing, tile(named))
	e.check(ctx, o, "picture", "", "the test card of the companion's camera", "elements.cameraOff", func(ctx context.Context) error {
		return errors.Join(output.Camera.Show(ctx, c.Page, testCard), c.Adapter.SetDevice(ctx, c.Page, meeting.Camera, true))
	}, func() bool { return showsTestCard(ctx, o) })

	e.checkStreams(ctx)

	early := o.Watch(ctx, quietTime, func() bool {
		return o.Sound && slices.ContainsFunc(o.Last.Participants, func(p meeting.Participant) bool { return p.Speaking && p.Name == name })
	})
	speaking, stop := context.WithCancel(ctx)
	var talking sync.WaitGroup
	e.check(ctx, o, "sound", "", "sound while the companion speaks", "elements.microphoneOff", func(ctx context.Context) error {
		if err := c.Adapter.SetDevice(ctx, c.Page, meeting.Microphone, true); err != nil {
			return err
		}
		player := &output.Player{Page: c.Page, Recording: func() output.Recording { return nil }}
		talking.Go(func() { // a failure is silence
			_ = player.Play(speaking, bytes.NewReader(bytes.Repeat(e.Speech, sentences)), nothing, func(time.Time) {})
		})
		_ = o.Adapter.ShowTexts(ctx, o.Page, meeting.TextOptions{Chat: true, Captions: true}) // observations tell what is open
		return nil
	}, func() bool { return o.Sound })
	e.check(ctx, o, "speaking", "name", "a mark on the companion's tile while it speaks, and not before", "roster.speaking", nothing,
		func() bool {
			return !early && tile(func(entry meeting.RosterEntry) bool { return named(entry) && entry.Speaking })()
		})
	needs := "sound"
	if e.captions = e.captions || o.Last.CaptionsOn; !e.captions {
		needs = "captions that can be turned on" // the host may not allow them
	}
	e.check(ctx, o, "captions", needs, "captions of the companion", "captions.lines, captions.author", nothing, func() bool {
		return slices.ContainsFunc(o.Last.Captions, func(line meeting.CaptionLine) bool {
			return line.Text != "" && (line.Author == name || len(o.Profile.Captions.Author) == 0)
		})
	})
	stop()
	talking.Wait()

	write := func(check, needs, expected string, from, to *session.Visitor, author string) {
		text := "Standin canary " + rand.Text()
		e.check(ctx, to, check, needs, expected, "chat.messages, chat.author, chat.text, elements.chatInput", func(ctx context.Context) error {
			err := to.Adapter.ShowTexts(ctx, to.Page, meeting.TextOptions{Chat: true, Captions: to.Last.CaptionsOn})
			return errors.Join(err, from.Adapter.SendChat(ctx, from.Page, text))
		}, func() bool {
			return slices.ContainsFunc(to.Last.Chat, func(message meeting.ChatMessage) bool {
				return strings.Contains(message.Text, text) && strings.Contains(message.Author, author)
			})
		})
	}
	write("chat", "", "the companion's message, with its name", c, o, name)
	write("answer", "chat", "the observer's message, read by the companion", o, c, "")
	err := c.Leave(ctx) // in any case
	e.check(ctx, o, "left", "people", "nothing of the companion after it left", "roster.tiles, roster.rows",
		func(context.Context) error { return err }, func() bool {
			_ = readPeople(ctx) // for the next observation
			return !listed() && !tile(named)()
		})
}

// checkStreams checks whether the video of the companion can be recorded as it is received. It is no mismatch if not, because bots
// record the page then.
func (e *encounter) checkStreams(ctx context.Context) {
	come, stop := func() bool { return false }, func() {}
	take := func(ctx context.Context) error {
		taken, end, err := e.observer.TakeStreams(ctx)
		if err == nil {
			come, stop = taken, end
		}
		return err
	}
	e.check(ctx, e.observer, "streams", "picture", "the companion's video as it is received, for recordings of streams", "", take,
		func() bool { return come() })
	stop()
	last := &e.checks[len(e.checks)-1]
	if last.State == CheckMissing {
		last.State, last.Seen = CheckUnchecked, "it does not come, so bots record the page instead: "+last.Seen
	}
}

// end lets the observer leave.
func (e *encounter) end(ctx context.Context) {
	err := e.observer.Leave(ctx) // in any case
	e.check(ctx, e.observer, "end", "", "the page after leaving", "screens.ended, elements.leaveButton", func(context.Context) error { return err },
		func() bool { return e.observer.Last.Screen.Terminal() })
}

// showsTestCard reports whether a bot's page shows the color of the test card.
func showsTestCard(ctx context.Context, on *session.Visitor) bool {
	const step, minimum = 17, 100 // pixels from one sample to the next; samples
	data, _ := on.Page.Screenshot(ctx)
	shot, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return false
	}
	found, width := 0, shot.Bounds().Dx()
	for i := 0; i < width*shot.Bounds().Dy(); i += step {
		if r, g, b, _ := shot.At(i%width, i/width).RGBA(); r > 0xb000 && g < 0x5000 && b > 0xb000 {
			found++
		}
	}
	return found >= minimum
}
