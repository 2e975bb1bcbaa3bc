package report

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/bot/serviceclient"
	"standin/internal/bot/spool"
	"standin/internal/jobs/job"
	"standin/internal/testing/ingesttest"
)

const testJob = "0193a1b2-0000-7000-8000-000000000001"

// testService is a fake service for one attempt.
type testService struct{ *ingesttest.Service }

func newService(t *testing.T, attempt int) *testService {
	t.Helper()
	return &testService{ingesttest.Start(t, testJob, attempt, "token")}
}

// kinds returns the kinds of the received events.
func (s *testService) kinds() []job.Trigger {
	s.Lock()
	defer s.Unlock()
	return s.EventKinds()
}

// lastData returns the data of the last event.
func (s *testService) lastData() ingest.EventData {
	events := s.ReceivedEvents()
	return ingest.ParseEventData(events[len(events)-1].Data)
}

func (s *testService) uploaded(name string) bool {
	_, ok := s.Uploaded(name)
	return ok
}

// newTestDelivery returns the delivery of an attempt whose client runs.
func newTestDelivery(t *testing.T, s *testService, attempt int) *Delivery {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	dir := t.TempDir()
	store, err := spool.Open(filepath.Join(dir, "spool"), spool.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	client, err := serviceclient.New(serviceclient.Settings{
		ServiceURL: s.URL(), JobID: testJob, Attempt: attempt, Token: "token", Spool: store, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		if err := client.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		stop()
		running.Wait()
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Delivery{
		Log: log, Attempt: attempt, Client: client, Spool: store,
		Report: New(attempt, "v9", false, store, NewClock()), Events: NewEmitter(log, client),
	}
}

// addRecording adds a segment that cannot be packed.
func (d *Delivery) addRecording(t *testing.T) {
	t.Helper()
	if err := d.Spool.AppendSegment(0, 0, []byte("no MP4")); err != nil {
		t.Fatal(err)
	}
	d.Report.StartPart(0, start)
	d.Report.AddSegment(0, 0)
	d.Report.EndPart(after(10), nil, "")
}

// deliveryContext bounds the time of a delivery.
func deliveryContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// TestDeliverAttendance: an attempt that is to record nothing succeeds if the bot was
// admitted.
func TestDeliverAttendance(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		admitted bool
		attempt  int
		want     []job.Trigger
	}{
		"admitted":          {true, 0, []job.Trigger{job.BotExited, job.ManifestFinalized}},
		"second attempt":    {true, 1, []job.Trigger{job.BotExited, job.ManifestFinalized}},
		"never in the call": {false, 0, []job.Trigger{job.BotExited}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, test.attempt)
			d := newTestDelivery(t, s, test.attempt)
			d.Report = New(test.attempt, "v9", true, d.Spool, NewClock())
			if test.admitted {
				d.Report.SetAdmitted(start)
			}
			if err := d.Deliver(deliveryContext(t), End{Reason: ReasonHostEnded, Code: job.MeetingEnded}); err != nil {
				t.Fatal(err)
			}
			if got := s.kinds(); !slices.Equal(got, test.want) {
				t.Errorf("events %v, want %v", got, test.want)
			}
			if test.admitted != s.uploaded(ingest.ReportName) || test.admitted == (s.lastData().FailureCode != "") {
				t.Errorf("the report is uploaded: %t, the last event is %+v", s.uploaded(ingest.ReportName), s.lastData())
			}
		})
	}
}

// TestDeliverWithoutRecording: an attempt without a recording fails the job, with
// a code for every result.
func TestDeliverWithoutRecording(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		end  End
		want job.FailureCode
	}{
		"not admitted":  {End{Code: job.LobbyTimeout, Detail: "Nobody admitted the bot."}, job.LobbyTimeout},
		"leave command": {End{Reason: ReasonCommand, Detail: "Left the call on request."}, job.MeetingEnded},
		"no reason":     {End{}, job.MeetingEnded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, 0)
			d := newTestDelivery(t, s, 0)
			if err := d.Deliver(deliveryContext(t), test.end); err != nil {
				t.Fatal(err)
			}
			if kinds := s.kinds(); !slices.Equal(kinds, []job.Trigger{job.BotExited}) {
				t.Fatalf("events: %v", kinds)
			}
			if data := s.lastData(); data.FailureCode != string(test.want) || data.FailureDetail != test.end.Detail ||
				data.EndReason != test.end.Reason {
				t.Errorf("data: %+v", data)
			}
		})
	}
}

// TestDeliverToNextBot: a bot whose process was stopped, or that cannot record, uploads what it has,
// and reports neither a failure nor the end of the recording.
func TestDeliverToNextBot(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		reason   string
		recorded bool
	}{{ReasonShutdown, true}, {ReasonShutdown, false}, {ReasonNoRecording, true}, {ReasonNoRecording, false}} {
		reason, recorded := c.reason, c.recorded
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			t.Parallel()
			s := newService(t, 0)
			d := newTestDelivery(t, s, 0)
			if recorded {
				d.addRecording(t)
			}
			if err := d.Deliver(deliveryContext(t), End{Reason: reason, Code: job.InternalError, Detail: "the cause"}); err != nil {
				t.Fatal(err)
			}
			if kinds := s.kinds(); !slices.Equal(kinds, []job.Trigger{job.BotExited}) {
				t.Errorf("events: %v", kinds)
			}
			if s.uploaded(ingest.SegmentName(0, 0)) != recorded || s.uploaded(ingest.ReportName) != recorded {
				t.Errorf("uploaded: %v", s.Uploads)
			}
			if data := s.lastData(); data.FailureCode != "" || data.EndReason != reason || data.Detail != "the cause" {
				t.Errorf("data: %+v", data)
			}
		})
	}
}

// TestDeliverForServicePacking: if only the service has the whole recording, the
// bot uploads its segments and packs nothing.
func TestDeliverForServicePacking(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		attempt int
		reason  string
	}{"a later attempt": {1, ReasonHostEnded}, "superseded": {0, ReasonSuperseded}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, test.attempt)
			d := newTestDelivery(t, s, test.attempt)
			d.addRecording(t)
			if err := d.Deliver(deliveryContext(t), End{Reason: test.reason}); err != nil {
				t.Fatal(err)
			}
			if kinds := s.kinds(); !slices.Equal(kinds, []job.Trigger{job.BotRecordingStopped, job.BotExited}) {
				t.Errorf("events: %v", kinds)
			}
			if !s.uploaded(ingest.SegmentName(0, 0)) || !s.uploaded(ingest.ReportName) {
				t.Errorf("uploaded: %v", s.Uploads)
			}
			if data := s.lastData(); data.FailureCode != "" || data.EndReason != test.reason {
				t.Errorf("data: %+v", data)
			}
		})
	}
}

// TestDeliverAfterPackingFails: the service still receives the segments and every
// event.
func TestDeliverAfterPackingFails(t *testing.T) {
	t.Parallel()
	s := newService(t, 0)
	d := newTestDelivery(t, s, 0)
	d.addRecording(t)
	err := d.Deliver(deliveryContext(t), End{Reason: ReasonHostEnded})
	if err == nil || !strings.Contains(err.Error(), "pack the recording") {
		t.Errorf("got %v", err)
	}
	want := []job.Trigger{job.BotRecordingStopped, job.BotExited, job.BotPostProcessing}
	if kinds := s.kinds(); !slices.Equal(kinds, want) || !s.uploaded(ingest.SegmentName(0, 0)) {
		t.Errorf("events %v, uploads %v", kinds, s.Uploads)
	}
}

// TestEmitOnce: events that occur once in an attempt are emitted once.
func TestEmitOnce(t *testing.T) {
	t.Parallel()
	s := newService(t, 0)
	d := newTestDelivery(t, s, 0)
	for range 2 {
		for _, kind := range []job.Trigger{
			job.BotJoined, job.BotEnteringLobby, job.BotInMeeting, job.BotRecordingStarted, job.BotRecordingStopped,
		} {
			if err := d.Events.Emit(kind, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := d.Client.Flush(deliveryContext(t)); err != nil {
		t.Fatal(err)
	}
	want := []job.Trigger{
		job.BotJoined, job.BotEnteringLobby, job.BotInMeeting, job.BotRecordingStarted, job.BotRecordingStopped, job.BotRecordingStarted,
	}
	if kinds := s.kinds(); !slices.Equal(kinds, want) {
		t.Errorf("events: %v", kinds)
	}
}
