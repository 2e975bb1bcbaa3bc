package lifecycle

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"standin/internal/base/meetinglink"
	"standin/internal/calendar/calendarsync"
	"standin/internal/jobs/job"
	"standin/internal/store"
)

// meeting is what all sources say about one event of a team, which is settled within a
// transaction.
type meeting struct {
	calendarsync.Meeting
	service *Service
	tx      *store.Tx
	limit   int  // of jobs in a month; 0 is no limit
	again   bool // a cancelled bot may come again
	asked   bool // also if its time has passed

	before  calendarsync.Event // of a message, as it was known; zero for a new one
	events  []calendarsync.Event
	newest  calendarsync.Event
	changes []*Change
	others  []calendarsync.Meeting // that had a job which was changed
	moved   bool                   // the job was changed, or replaced
	created bool
	had     uuid.UUID // job before
	surplus []*Change // jobs that have not ended, of events that had another one
	decided decision
}

// decision is what became of a meeting.
type decision struct {
	record bool
	reason string // instead of that of calendarsync.Decide, if not empty
	jobID  uuid.UUID
}

// Reasons of meetings without a bot.
const (
	reasonCancelledByUser = "not recorded: its bot was cancelled"
	reasonOver            = "not recorded: its time has passed"
	reasonQuota           = "not recorded: the free meetings of this month are used up"
)

// settle decides about the meeting and changes its job. A meeting that is over stays as
// it is: its bot leaves when the others do.
func (m *meeting) settle(ctx context.Context) error {
	newest, wanted, reasons := calendarsync.Decide(m.events)
	last := newest
	if newest.ID == uuid.Nil && len(m.events) > 0 { // all are removed
		last = slices.MaxFunc(m.events, func(a, b calendarsync.Event) int { return a.End.Compare(b.End) })
	}
	m.newest = newest
	now := m.service.Now()
	isOver := !m.asked && !last.End.After(now) && !last.Start.After(now)
	if isOver && !slices.ContainsFunc(m.events, func(e calendarsync.Event) bool { return !e.Job.Terminal() && e.JobAt.After(now) }) {
		return nil
	}
	current, err := m.current(ctx)
	if err != nil {
		return err
	}
	if current != nil {
		m.had = current.ID
	}
	wanted = wanted && !isOver
	if wanted {
		err = m.attend(ctx, current)
	} else {
		err = m.stayAway(ctx, current, isOver)
	}
	for _, c := range m.surplus {
		var others []calendarsync.Event
		if err == nil && c.ID != m.decided.jobID {
			others, err = m.wishes(ctx, c.ID)
		}
		if err == nil && c.ID != m.decided.jobID {
			err = m.leave(ctx, c, others, outside(c.Status) || undispatched(c.Status))
		}
	}
	if isOver && !m.decided.record {
		m.decided.reason = reasonOver
	}
	for n := range m.events {
		e := &m.events[n]
		e.Wanted, e.Record, e.JobID, e.DecidedStart = wanted, m.decided.record, m.decided.jobID, newest.Start
		e.Reason = cmp.Or(m.decided.reason, reasons[n])
	}
	return err
}

// current returns the job that the events have: one that has not ended, or else the newest; nil
// if there is none.
func (m *meeting) current(ctx context.Context) (*Change, error) {
	var found *Change
	for _, e := range m.events {
		if e.JobID == uuid.Nil || found != nil && found.ID == e.JobID {
			continue
		}
		r, err := m.tx.LockJob(ctx, e.JobID)
		if job.IsNotFound(err) { // it was erased
			continue
		}
		if err != nil {
			return nil, err
		}
		switch c := m.service.newChange(m.tx, r); {
		case found == nil || found.Status.Terminal() && (!r.Status.Terminal() || r.CreatedAt.After(found.CreatedAt)):
			found = c
		case !r.Status.Terminal():
			m.surplus = append(m.surplus, c)
		}
	}
	return found, nil
}

// attend finds, moves or creates the job of a meeting that wants one.
func (m *meeting) attend(ctx context.Context, current *Change) error {
	e := m.newest
	var own job.Record
	if current != nil {
		own = current.Record
		if byConsumer, err := m.tx.CancelledByConsumer(ctx, own.ID); own.Status == job.Cancelled && !byConsumer || err != nil {
			if own = (job.Record{}); err != nil {
				return err
			}
		}
	}
	known, err := m.jobsInRoom(ctx)
	if err != nil {
		return err
	}
	allowed := m.limit == 0
	if !allowed {
		now := m.service.Now().UTC()
		month := time.Date(now.Year(), now.Month(), 1, 0, 0, 0, 0, time.UTC)
		count, err := m.tx.CountEventJobs(ctx, m.ConsumerID, month, month.AddDate(0, 1, 0))
		if err != nil {
			return err
		}
		allowed = count < m.limit
	}
	others, err := m.wishes(ctx, own.ID)
	if err != nil {
		return err
	}
	chosen, what := choose(e, own, known, len(others) == 0)
	for _, r := range known { // which become one
		if what == follow && r.ID != chosen.ID && r.ID != own.ID && r.ByEvent && undispatched(r.Status) {
			if err := m.markOthers(ctx, r.ID); err != nil {
				return err
			}
		}
	}
	switch {
	case what == stay && chosen.FailureCode == job.QuotaExceeded && !allowed:
		m.decided = decision{false, reasonQuota, chosen.ID}
		return nil
	case what == stay && chosen.FailureCode == job.QuotaExceeded:
		what = create
	case what == stay && chosen.Status == job.Cancelled && m.again:
		what = create
	case what == stay && chosen.Status == job.Cancelled:
		m.decided = decision{false, reasonCancelledByUser, chosen.ID}
	}
	if current != nil && chosen.ID != current.ID {
		if err := m.leave(ctx, current, others, outside(current.Status) || undispatched(current.Status)); err != nil {
			return err
		}
	}
	switch what {
	case stay:
		if m.decided == (decision{}) {
			m.decided = decision{record: true, jobID: chosen.ID}
		}
		return nil
	case follow:
		m.decided = decision{record: true, jobID: chosen.ID}
		c := current
		if current == nil || chosen.ID != current.ID {
			r, err := m.tx.LockJob(ctx, chosen.ID)
			if err != nil {
				return err
			}
			c = m.service.newChange(m.tx, r)
			if others, err = m.wishes(ctx, c.ID); err != nil {
				return err
			}
		}
		// Unless the bot has been sent, or the job is the consumer's own, it gets what its event says. What the
		// consumer has changed stays.
		if !c.ByEvent || !undispatched(c.Status) {
			return nil
		}
		decidedBefore := func(known calendarsync.Event) bool { return known.JobID == c.ID && known.DecidedStart.Equal(e.Start) }
		return m.change(ctx, c, e, others, !slices.ContainsFunc(m.events, decidedBefore))
	}
	return m.create(ctx, allowed)
}

// jobsInRoom returns the jobs of the team for the meeting at its time, newest first. Of those that were
// cancelled, it returns the newest job if its consumer has cancelled it: later ones came because a person wanted
// one again.
func (m *meeting) jobsInRoom(ctx context.Context) (known []job.Record, err error) {
	e := m.newest
	found, err := m.tx.JobsOfMeeting(ctx, m.ConsumerID, e.MeetingURL, e.Start.Add(-longestMeeting), job.Latest(e.End, e.Start.Add(sameTime)))
	hasNewer := false
	for _, r := range found {
		if err != nil || !isSameTime(e, r, m.service.Now()) {
			continue
		}
		isKnown := r.Status != job.Cancelled
		if !isKnown && !hasNewer {
			isKnown, err = m.tx.CancelledByConsumer(ctx, r.ID)
		}
		if hasNewer = true; isKnown {
			known = append(known, r)
		}
	}
	return known, err
}

// isSameTime reports whether a bot of a job would be in its meeting during an event. One that its consumer has asked
// for comes when that says, which must not be late for the event.
func isSameTime(e calendarsync.Event, r job.Record, now time.Time) bool {
	if undispatched(r.Status) && !r.ByEvent && r.JoinAt.After(e.Start.Add(sameTime)) {
		return false
	}
	from, to := r.JoinAt, job.Latest(r.Options.StartBefore.Time(), r.JoinAt.Add(sameTime))
	if r.Status.InCall() || outside(r.Status) {
		to = job.Latest(to, now)
	}
	return from.Before(job.Latest(e.End, e.Start.Add(sameTime))) && to.After(e.Start)
}

// action is what is done for an event that wants a bot.
type action int

const (
	create action = iota
	follow        // the job goes on, and has what the event says
	stay          // the job was over, or a person has cancelled it: no other bot comes
)

// choose returns the job of an event that wants a bot, and what is done with it. own is the job that
// the event had, which may be for another time or link; known are those for its link at its time.
// free says that no other event wants the event's own job. It is pure.
//
// A bot in the meeting is joined, then one at its door, then the oldest job that waits. A waiting job of the
// event's own is moved, and stays where its consumer has moved it. A meeting whose bot has ended gets another
// one if it was moved to a later time, or if the bot has failed at another link.
func choose(e calendarsync.Event, own job.Record, known []job.Record, free bool) (job.Record, action) {
	rank := func(r job.Record) int {
		switch {
		case r.Status.InCall():
			return 0
		case outside(r.Status):
			return 1
		case !r.ByEvent || r.Requested:
			return 2 // it stays
		}
		return 3
	}
	relinked := own.ID != uuid.Nil && (meetinglink.Key(own.MeetingURL) != meetinglink.Key(e.MeetingURL) ||
		meetinglink.Passcode(own.MeetingURL) != meetinglink.Passcode(e.MeetingURL))
	var live, ended []job.Record
	for _, r := range known {
		switch {
		case r.Status.InCall() || undispatched(r.Status) || outside(r.Status) && (r.ID != own.ID || !relinked || !r.ByEvent):
			live = append(live, r)
		case r.Status.Terminal() || !outside(r.Status):
			ended = append(ended, r)
		}
	}
	if len(live) > 0 {
		return slices.MinFunc(live, func(a, b job.Record) int { return cmp.Or(rank(a)-rank(b), a.CreatedAt.Compare(b.CreatedAt)) }), follow
	}
	if own.ID != uuid.Nil {
		isOver := own.Status == job.Completed || own.Status == job.Failed || own.Status.Teardown()
		unmoved := own.JoinAt.Equal(e.Start) || !e.Start.After(own.StatusSince)
		switch {
		case undispatched(own.Status) && own.ByEvent && (free || !relinked && e.DecidedStart.Equal(e.Start)):
			return own, follow
		case own.Status == job.Cancelled || own.FailureCode == job.QuotaExceeded:
			return own, stay
		case isOver && unmoved && (own.Status != job.Failed || !relinked):
			return own, stay
		}
	}
	for _, r := range ended {
		unmoved := r.JoinAt.Equal(e.Start) || !e.Start.After(r.StatusSince)
		if r.Status == job.Cancelled || unmoved && r.ID != own.ID && r.FailureCode != job.QuotaExceeded {
			return r, stay
		}
	}
	return job.Record{}, create
}

// outside reports whether a bot was started that is not in the meeting yet.
func outside(status job.Status) bool {
	return status == job.Dispatching || status == job.Joining || status == job.EnteringLobby
}

// wishes returns the newest events of other meetings that want a job, by their start.
func (m *meeting) wishes(ctx context.Context, jobID uuid.UUID) (others []calendarsync.Event, err error) {
	if jobID == uuid.Nil {
		return nil, nil
	}
	events, err := m.tx.EventsOfJob(ctx, jobID)
	seen := []calendarsync.Meeting{m.Meeting}
	for _, e := range events {
		other := calendarsync.Meeting{ConsumerID: m.ConsumerID, UID: e.UID, Original: e.Original}
		if err != nil || !e.Wanted || e.Removed || slices.Contains(seen, other) {
			continue
		}
		seen = append(seen, other)
		var all []calendarsync.Event
		all, err = m.tx.MeetingEvents(ctx, other)
		if newest, wanted, _ := calendarsync.Decide(all); wanted {
			others = append(others, newest)
		}
	}
	slices.SortFunc(others, func(a, b calendarsync.Event) int { return a.Start.Compare(b.Start) })
	return others, err
}

// leave gives up the job that the meeting had. Other events keep it, at their time; without any, it is
// cancelled if it may be.
func (m *meeting) leave(ctx context.Context, c *Change, others []calendarsync.Event, mayCancel bool) error {
	m.moved = true
	if !c.ByEvent || c.Status.Terminal() {
		return nil
	}
	if len(others) > 0 {
		if !undispatched(c.Status) {
			return nil
		}
		return m.change(ctx, c, others[0], others[1:], true)
	}
	if !mayCancel || c.Requested {
		return nil
	}
	return m.cancelJob(ctx, c, map[string]string{"by": m.by()})
}

// cancelJob cancels a job; without data, as a person.
func (m *meeting) cancelJob(ctx context.Context, c *Change, data any) error {
	if err := c.cancel(ctx, data); err != nil {
		return err
	}
	return m.saveJob(ctx, c)
}

// saveJob saves a changed job, and notes the other meetings that have it.
func (m *meeting) saveJob(ctx context.Context, c *Change) error {
	if err := c.save(ctx); err != nil {
		return err
	}
	m.changes = append(m.changes, c)
	return m.markOthers(ctx, c.ID)
}

// markOthers notes the other meetings that have a job.
func (m *meeting) markOthers(ctx context.Context, jobID uuid.UUID) error {
	others, err := m.tx.MarkOtherEvents(ctx, m.Meeting, jobID)
	m.others = append(m.others, others...)
	return err
}

// by returns who changes jobs, as the timeline names it.
func (m *meeting) by() string {
	e := m.newest
	if e.ID == uuid.Nil && len(m.events) > 0 {
		e = m.events[0]
	}
	if e.IsInvitation() {
		return byInvite
	}
	return byCalendar
}

// stayAway gives up the job of a meeting that wants no bot, or no longer. If a person has switched it off,
// its bot counts as cancelled by the consumer, whoever has asked for it.
func (m *meeting) stayAway(ctx context.Context, current *Change, isOver bool) error {
	e := m.newest
	off := calendarsync.Overridden(m.events, false)
	var known []job.Record
	if e.MeetingURL != "" && e.Problem == "" && !isOver {
		var err error
		if known, err = m.jobsInRoom(ctx); err != nil {
			return err
		}
	}
	switch {
	case off:
		for _, r := range known {
			if r.Status.Terminal() || !r.ByEvent {
				continue
			}
			locked, err := m.tx.LockJob(ctx, r.ID)
			if err == nil {
				err = m.cancelJob(ctx, m.service.newChange(m.tx, locked), nil)
			}
			if err != nil {
				return err
			}
			m.decided.jobID = r.ID
		}
		if m.decided.jobID != uuid.Nil && (current == nil || current.ID == m.decided.jobID || current.Status.Terminal()) {
			return nil
		}
		if current != nil && !current.Status.Terminal() && current.ByEvent {
			m.decided.jobID = current.ID
			return m.cancelJob(ctx, current, nil)
		}
	case current != nil:
		others, err := m.wishes(ctx, current.ID)
		if err == nil {
			err = m.leave(ctx, current, others, true)
		}
		if err != nil {
			return err
		}
		if len(others) == 0 && current.ByEvent {
			m.decided.jobID = current.ID // it tells what has become of the meeting
		}
	}
	for _, r := range known {
		if (current == nil || r.ID != current.ID || !current.Status.Terminal()) && !r.Status.Terminal() && (!off || !r.ByEvent) {
			m.decided = decision{true, calendarsync.ReasonOtherSource, r.ID}
			return nil
		}
	}
	return nil
}
