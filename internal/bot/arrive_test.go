package bot

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"standin/internal/job"
	"standin/internal/replica"
)

// TestArriveWaits: a bot that is ready before its time waits for it, or until it
// is told to leave.
func TestArriveWaits(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBot(Settings{JoinAt: time.Now().Add(5 * time.Second), Log: slog.New(slog.DiscardHandler)})
		b.told[job.BotJoined] = true // there is nobody to tell
		began := time.Now()
		if err := b.arrive(t.Context()); err != nil || time.Since(began) != 5*time.Second {
			t.Errorf("it waits for %s (%v)", time.Since(began), err)
		}
		if err := b.arrive(t.Context()); err != nil || time.Since(began) != 5*time.Second {
			t.Errorf("when it comes again it waits until %s (%v)", time.Since(began), err)
		}
		b.JoinAt = time.Now().Add(time.Hour)
		leaving, cancel := context.WithCancel(t.Context())
		cancel()
		if err := b.arrive(leaving); !errors.Is(err, context.Canceled) {
			t.Errorf("told to leave it ends with %v", err)
		}
	})
}

// TestReadyData is what a bot tells of how long it took: what the service reads
// for its lead.
func TestReadyData(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(readyData{ReadyMS: 1234})
	if err != nil || string(text) != `{"readyMs":1234}` {
		t.Errorf("%s (%v)", text, err)
	}
}

// TestEarlyBot: a bot that is launched early has its browser ready, and opens the
// page when its time has come.
func TestEarlyBot(t *testing.T) {
	t.Parallel()
	needTools(t)
	launched := time.Now()
	joinAt := launched.Add(8 * time.Second).Truncate(time.Millisecond) // as exact as what is told
	r := row{
		name: "early", meeting: walled(replica.RefusalNotFound), code: job.MeetingNotFound,
		bot: func(s *Settings) { s.JoinAt = joinAt },
		check: func(o *outing) {
			joined := o.told(job.BotJoined)
			if joined.EmittedAt.Before(joinAt) {
				o.Errorf("it joins at %s, before %s", joined.EmittedAt, joinAt)
			}
			var said readyData
			if err := json.Unmarshal(joined.Data, &said); err != nil || said.ReadyMS <= 0 || said.ReadyMS > joined.EmittedAt.Sub(launched).Milliseconds() {
				o.Errorf("it says that it was ready after %d ms (%v)", said.ReadyMS, err)
			}
			o.Logf("ready after %d ms; joins %s after its time", said.ReadyMS, joined.EmittedAt.Sub(joinAt))
		},
	}
	newOuting(t, startReplica(t), job.Meet, r, new(delays)).run()
}
