package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/store"
)

// TestListJobs reads all pages of a consumer's jobs with each filter.
func TestListJobs(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer, other := newConsumer(t, s), newConsumer(t, s)
		at := func(minutes int) time.Time { return now.Add(time.Duration(minutes) * time.Minute) }
		var jobs []job.Record // oldest first
		for i := range 10 {
			r := newJob(consumer.ID)
			r.ExternalID = fmt.Sprint("job ", i)
			r.CreatedAt, r.JoinAt = at(i/2), at(100-i) // two jobs per time; joinAt decreases
			if i%3 == 0 {
				r.Platform = job.Teams
			}
			if i%2 == 0 {
				r.Status = job.Pending
			}
			jobs = append(jobs, r)
		}
		foreign, test := newJob(other.ID), newJob(consumer.ID)
		test.Mode = job.Test
		insert(t, s, append(jobs, foreign, test)...)

		tests := map[string]struct {
			filter job.Filter
			want   []int // indexes in jobs
		}{
			"all":         {job.Filter{}, []int{9, 8, 7, 6, 5, 4, 3, 2, 1, 0}},
			"by status":   {job.Filter{Statuses: []job.Status{job.Pending}}, []int{8, 6, 4, 2, 0}},
			"by platform": {job.Filter{Platform: job.Teams}, []int{9, 6, 3, 0}},
			"by several statuses": {
				job.Filter{Statuses: []job.Status{job.Scheduled, job.Pending, job.Scheduled, job.Failed}}, []int{9, 8, 7, 6, 5, 4, 3, 2, 1, 0},
			},
			"by status and platform": {job.Filter{Statuses: []job.Status{job.Pending}, Platform: job.Teams}, []int{6, 0}},
			"by state and creation": {
				job.Filter{Platform: job.Teams, Statuses: []job.Status{job.Pending, job.Scheduled}, CreatedFrom: at(1), CreatedTo: at(4)},
				[]int{6, 3},
			},
			"by externalId":             {job.Filter{ExternalID: "job 4"}, []int{4}},
			"by another externalId":     {job.Filter{ExternalID: "job"}, nil},
			"not created before":        {job.Filter{CreatedFrom: at(3)}, []int{9, 8, 7, 6}},
			"created before":            {job.Filter{CreatedTo: at(1)}, []int{1, 0}},
			"created within":            {job.Filter{CreatedFrom: at(1), CreatedTo: at(2)}, []int{3, 2}},
			"fraction of a millisecond": {job.Filter{CreatedFrom: at(1).Add(time.Microsecond), CreatedTo: at(2).Add(time.Microsecond)}, []int{5, 4}},
			"joining within":            {job.Filter{JoinFrom: at(92), JoinTo: at(95)}, []int{8, 7, 6}},
			"joining and platform":      {job.Filter{JoinFrom: at(92), JoinTo: at(95), Platform: job.Teams}, []int{6}},
			"externalId and status":     {job.Filter{ExternalID: "job 4", Statuses: []job.Status{job.Pending}}, []int{4}},
			"joining and status":        {job.Filter{JoinFrom: at(92), JoinTo: at(95), Statuses: []job.Status{job.Pending}}, []int{8, 6}},
			"joining and created":       {job.Filter{JoinFrom: at(92), CreatedTo: at(3)}, []int{5, 4, 3, 2, 1, 0}},
			"status of no job":          {job.Filter{Statuses: []job.Status{job.Completed}}, nil},
		}
		for name, test := range tests {
			for _, limit := range []int{1, 3, 5, 100} {
				got := pageThrough(t, s, consumer.ID, test.filter, limit)
				if want := idsOf(jobs, test.want); !sameOrder(got, want, jobs) {
					t.Errorf("%s, limit %d: %v\nwant %v", name, limit, got, want)
				}
			}
		}
	})
}

// pageThrough reads all pages of a list and returns the IDs in order.
func pageThrough(t *testing.T, s *store.Store, consumer uuid.UUID, filter job.Filter, limit int) []uuid.UUID {
	t.Helper()
	var ids []uuid.UUID
	var after job.Cursor
	for more := true; more; {
		var page []job.Job
		var err error
		page, more, err = s.ListJobs(t.Context(), live(consumer), filter, after, limit)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) > limit || more && len(page) == 0 {
			t.Fatalf("page of %d with limit %d (more: %v)", len(page), limit, more)
		}
		for _, r := range page {
			ids = append(ids, r.ID)
			after = job.Cursor{CreatedAt: r.CreatedAt, ID: r.ID}
		}
	}
	return ids
}

func idsOf(jobs []job.Record, positions []int) []uuid.UUID {
	var ids []uuid.UUID
	for _, position := range positions {
		ids = append(ids, jobs[position].ID)
	}
	return ids
}

// sameOrder reports whether two lists are equal, with jobs created at the same time
// in descending order of their IDs.
func sameOrder(got, want []uuid.UUID, jobs []job.Record) bool {
	created := make(map[uuid.UUID]time.Time)
	for _, r := range jobs {
		created[r.ID] = r.CreatedAt
	}
	slices.SortStableFunc(want, func(a, b uuid.UUID) int {
		if sequence := created[b].Compare(created[a]); sequence != 0 {
			return sequence
		}
		return strings.Compare(b.String(), a.String())
	})
	return slices.Equal(got, want)
}

// TestPagesAreStable checks that jobs created while paging do not shift later pages.
func TestPagesAreStable(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store.Store) {
		consumer := newConsumer(t, s)
		var want []uuid.UUID
		add := func(n int) {
			for range n {
				r := newJob(consumer.ID)
				r.CreatedAt = now.Add(time.Duration(len(want)) * time.Second)
				insert(t, s, r)
				want = append(want, r.ID)
			}
		}
		add(6)
		before := slices.Clone(want)
		slices.Reverse(before)
		var got []uuid.UUID
		var after job.Cursor
		for more := true; more; {
			var page []job.Job
			var err error
			if page, more, err = s.ListJobs(t.Context(), live(consumer.ID), job.Filter{}, after, 2); err != nil {
				t.Fatal(err)
			}
			for _, r := range page {
				got = append(got, r.ID)
				after = job.Cursor{CreatedAt: r.CreatedAt, ID: r.ID}
			}
			add(3)
		}
		if !slices.Equal(got, before) {
			t.Errorf("pages returned %v\nwant %v", got, before)
		}
	})
}

// TestLargeJobsMakeShortPages checks that the size of a page is bounded.
func TestLargeJobsMakeShortPages(t *testing.T) {
	t.Parallel()
	s := openSQLite(t)
	consumer := newConsumer(t, s)
	var want []uuid.UUID
	for i := range 12 {
		r := newJob(consumer.ID)
		r.CreatedAt = now.Add(-time.Duration(i) * time.Second)
		r.Metadata = []byte(`{"text":"` + strings.Repeat("x", 1<<20) + `"}`)
		insert(t, s, r)
		want = append(want, r.ID)
	}
	page, more, err := s.ListJobs(t.Context(), live(consumer.ID), job.Filter{}, job.Cursor{}, 100)
	if err != nil || !more || len(page) == 0 || len(page) > 8 {
		t.Fatalf("page of %d jobs of 1 MiB each (more: %v, %v)", len(page), more, err)
	}
	if got := pageThrough(t, s, consumer.ID, job.Filter{}, 100); !slices.Equal(got, want) {
		t.Errorf("pages returned %d jobs, want %d", len(got), len(want))
	}
}
