package lifecycle_test

import (
	"context"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/store"
)

// TestPatch checks that only the given fields change.
func TestPatch(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	later := time.Now().Add(3 * time.Hour).Truncate(time.Millisecond).UTC()
	zoned := later.Add(123 * time.Microsecond).In(time.FixedZone("", 3600))
	name, empty, hook, solo, detect := "Notes", "", "https://hooks.test/new", 7, true
	tests := map[string]struct {
		patch   lifecycle.Patch
		change  func(*job.Job)
		changed string // fields in the timeline entry; empty if nothing changes
	}{
		"nothing": {lifecycle.Patch{}, func(*job.Job) {}, ``},
		"joinAt":  {lifecycle.Patch{JoinAt: &zoned}, func(j *job.Job) { j.JoinAt = later }, `["joinAt"]`},
		"displayName": {
			lifecycle.Patch{DisplayName: &name}, func(j *job.Job) { j.DisplayName = name }, `["displayName"]`,
		},
		"metadata": {
			lifecycle.Patch{Metadata: json.RawMessage(`{"new":[1]}`)}, func(j *job.Job) {
				j.Metadata = json.RawMessage(`{"new":[1]}`)
			}, `["metadata"]`,
		},
		"some autoLeave settings": {
			lifecycle.Patch{AutoLeave: lifecycle.AutoLeavePatch{AfterSoloSeconds: &solo, OnBotDetected: &detect}},
			func(j *job.Job) { j.AutoLeave.AfterSoloSeconds, j.AutoLeave.OnBotDetected = 7, true }, `["autoLeave"]`,
		},
		"all autoLeave settings": {
			lifecycle.Patch{AutoLeave: lifecycle.AutoLeavePatch{
				AfterEntryDelaySeconds: &solo, AfterSilenceSeconds: &solo, AfterSoloSeconds: &solo, AfterMaxSeconds: &solo,
			}},
			func(j *job.Job) {
				j.AutoLeave = job.AutoLeave{AfterEntryDelaySeconds: 7, AfterSilenceSeconds: 7, AfterSoloSeconds: 7, AfterMaxSeconds: 7}
			}, `["autoLeave"]`,
		},
		"one webhook": {
			lifecycle.Patch{Webhooks: lifecycle.WebhooksPatch{OnFinalize: &hook}}, func(j *job.Job) { j.Webhooks.OnFinalize = hook }, `["webhooks"]`,
		},
		"no webhook": {
			lifecycle.Patch{Webhooks: lifecycle.WebhooksPatch{OnStatusChange: &empty, OnFinalize: &empty}},
			func(j *job.Job) { j.Webhooks = job.Webhooks{} }, `["webhooks"]`,
		},
		"recording": {
			lifecycle.Patch{Options: job.Options{Recording: job.RecordingOptions{Layout: job.LayoutContent}}},
			func(j *job.Job) { j.Options.Recording.Layout = job.LayoutContent }, `["recording"]`,
		},
		"several": {
			lifecycle.Patch{JoinAt: &later, DisplayName: &name}, func(j *job.Job) {
				j.JoinAt, j.DisplayName = later, name
			}, `["joinAt","displayName"]`,
		},
	}
	for what, test := range tests {
		id := h.newJob(t)
		want := h.Record(t, id).Job
		test.change(&want)
		got, err := h.Patch(t.Context(), h.Caller, id, test.patch)
		kept := h.Record(t, id)
		if err != nil || !reflect.DeepEqual(got, want) || !reflect.DeepEqual(kept.Job, want) {
			t.Errorf("%s: %v\n       %+v\nstored %+v\nwant   %+v", what, err, got, kept.Job, want)
		}
		if !kept.WakeAt.Equal(want.JoinAt) {
			t.Errorf("%s: wake time %v, want %v", what, kept.WakeAt, want.JoinAt)
		}
		if got := h.changes(t, id); got != test.changed {
			t.Errorf("%s: timeline %s, want %s", what, got, test.changed)
		}
		h.checkHistory(t, id)
	}
}

// changes returns the fields changed by the consumer according to a job's timeline.
func (h *harness) changes(t *testing.T, id [16]byte) string {
	t.Helper()
	changed := ""
	for _, entry := range h.Data(t, id, lifecycle.JobChanged) {
		var data struct {
			By      string
			Changed json.RawMessage
			JoinAt  *time.Time
		}
		if err := json.Unmarshal([]byte(entry), &data); err != nil || data.By != "consumer" {
			t.Errorf("timeline entry %s (%v)", entry, err)
		}
		if at := h.Record(t, id).JoinAt; data.JoinAt != nil && !data.JoinAt.Equal(at) {
			t.Errorf("joinAt %v on the timeline, %v in the job", data.JoinAt, at)
		}
		changed += string(data.Changed)
	}
	return changed
}

// TestPatchAfterDispatch checks that only the job's consumer can change a job, and
// only before its dispatch.
func TestPatchAfterDispatch(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	name := "another"
	id := h.newJob(t)
	for _, status := range job.Statuses() {
		h.setStatus(t, id, status)
		_, err := h.Patch(t.Context(), h.Caller, id, lifecycle.Patch{DisplayName: &name})
		if open := status == job.Scheduled || status == job.Pending; open && err != nil || !open && !job.ErrorIs(err, job.InvalidState) {
			t.Errorf("job with status %s: %v", status, err)
		}
		for who, stranger := range h.otherCallers(t) {
			if _, err := h.Patch(t.Context(), stranger, id, lifecycle.Patch{DisplayName: &name}); !job.ErrorIs(err, job.NotFound) {
				t.Errorf("job with status %s, %s: %v", status, who, err)
			}
		}
	}
}

// TestPatchStopsDispatch checks that moving a claimed job ends the dispatcher's lease
// before the dispatch, and wakes the dispatcher for the new time.
func TestPatchStopsDispatch(t *testing.T) {
	t.Parallel()
	h := newSQLiteHarness(t)
	id := h.newJob(t)
	var claimed job.Claimed
	err := h.Store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
		claimed, err = tx.ClaimJobs(ctx, job.Claim{Now: time.Now(), Limit: 1, Lease: time.Minute})
		return err
	})
	if err != nil || len(claimed.Jobs) != 1 {
		t.Fatalf("claimed %+v, %v", claimed, err)
	}
	before := h.Record(t, id)
	name := "another"
	if _, err := h.Patch(t.Context(), h.Caller, id, lifecycle.Patch{DisplayName: &name}); err != nil {
		t.Fatal(err)
	}
	if r := h.Record(t, id); r.Lease == "" || r.Lease != claimed.Jobs[0].Lease || !r.WakeAt.Equal(before.WakeAt) {
		t.Errorf("a change of the name ended the lease: %q until %v", r.Lease, r.WakeAt)
	}
	woken := h.woken.Load()
	later := time.Now().Add(time.Hour)
	if _, err := h.Patch(t.Context(), h.Caller, id, lifecycle.Patch{JoinAt: &later}); err != nil {
		t.Fatal(err)
	}
	if r := h.Record(t, id); r.Lease != "" || !r.WakeAt.Equal(r.JoinAt) {
		t.Errorf("after the move: lease %q, wake time %v, joinAt %v", r.Lease, r.WakeAt, r.JoinAt)
	}
	if h.woken.Load() == woken {
		t.Error("the dispatcher was not woken")
	}
}
