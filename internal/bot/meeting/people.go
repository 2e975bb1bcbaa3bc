package meeting

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// peopleOpenTimeout is how long the list of people may take to open.
	peopleOpenTimeout = 5 * time.Second
	// peopleCloseTimeout is how long it may take to press the button that closes it.
	peopleCloseTimeout = time.Second
	// maxPeopleSteps limits how often a list of people is scrolled.
	maxPeopleSteps = 200
	// peopleLastFor is how long a list of people that was read stays known.
	peopleLastFor = 5 * time.Minute
)

// ReadPeople implements Adapter. Pages draw only some tiles, and long lists hold only
// the rows that are in view, so the list is scrolled from its start to its end.
func (s *site) ReadPeople(ctx context.Context, page Page) error {
	if len(s.profile.Roster.Rows) == 0 || len(s.profile.Elements[peopleButton]) == 0 {
		return nil
	}
	if err := s.hideTexts(ctx, page, s.shown); err != nil {
		return err
	}
	waiting, stop := context.WithTimeout(ctx, peopleOpenTimeout)
	defer stop()
	opened := false // by the bot
	err := s.poll(waiting, page, func(snapshot Snapshot) (bool, error) {
		switch {
		case len(snapshot.Rows) > 0:
			return true, nil
		case opened:
			return false, nil // it loads
		case snapshot.present(peopleButton):
			opened = true
			return false, s.clickAnywhere(waiting, page, peopleButton)
		}
		return false, nil
	})
	var rows []RosterEntry
	if err == nil {
		rows, err = s.scrollPeople(ctx, page)
	}
	if opened && !errors.Is(err, errPeopleClosed) {
		// Also after a failure, and when ctx has ended: it is in front of the chat.
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), peopleCloseTimeout)
		defer cancel()
		err = errors.Join(err, s.clickAnywhere(closing, page, peopleButton))
	}
	if err != nil {
		return fmt.Errorf("read the list of people: %w", err)
	}
	s.visit.mu.Lock()
	defer s.visit.mu.Unlock()
	s.visit.people, s.visit.peopleAt = rows, time.Now()
	return nil
}

// errPeopleClosed is the error of a list of people that others closed.
var errPeopleClosed = errors.New("the list closed while it was read")

// clickAnywhere clicks an element by script, also one in a hidden toolbar, which stays
// hidden.
func (d driver) clickAnywhere(ctx context.Context, page Page, element string) error {
	return clickScript(ctx, page, element, d.probe.find(map[string]string{"hidden": element}))
}

// scrollPeople returns the rows of the list of people, from its start to its end, and
// leaves it at its start.
func (s *site) scrollPeople(ctx context.Context, page Page) ([]RosterEntry, error) {
	selectors, _ := json.Marshal(s.profile.Roster.Rows) // texts always encode
	scroll := func(toStart bool) (moved bool, err error) {
		err = page.Eval(ctx, fmt.Sprintf("%s(%s, %t)", scrollScript, selectors, toStart), &moved)
		return moved, err
	}
	if _, err := scroll(true); err != nil {
		return nil, err
	}
	var rows []RosterEntry
	atEnd := false
	for range maxPeopleSteps {
		snapshot, err := s.probe.snapshotInMeeting(ctx, page)
		if err != nil {
			return nil, err
		}
		if len(snapshot.Rows) == 0 {
			return nil, errPeopleClosed
		}
		for _, row := range snapshot.Rows {
			if !slices.ContainsFunc(rows, func(known RosterEntry) bool { return known.Place == row.Place && known.identity() == row.identity() }) {
				rows = append(rows, row)
			}
		}
		if atEnd {
			break
		}
		moved, err := scroll(false)
		if err != nil {
			return nil, err
		}
		atEnd = !moved
	}
	_, err := scroll(true)
	return rows, err
}

// scrollScript scrolls the list that holds rows to its start, or by less than what is
// in view, and reports whether it moved.
const scrollScript = `((selectors, toStart) => {
	const find = inside => {
		const found = inside.querySelector(selectors.join(","));
		if (found) return found;
		for (const frame of inside.querySelectorAll("iframe, frame")) {
			let within = null;
			try { within = frame.contentDocument; } catch { /* of another origin */ }
			const inner = within && find(within);
			if (inner) return inner;
		}
		return null;
	};
	const scrolls = element => element.scrollHeight > element.clientHeight + 4 &&
		/auto|scroll|overlay|hidden/.test(element.ownerDocument.defaultView.getComputedStyle(element).overflowY);
	let list = find(document);
	while (list && !scrolls(list)) list = list.parentElement;
	if (!list || list === list.ownerDocument.body || list === list.ownerDocument.documentElement) return false;
	const before = list.scrollTop;
	list.scrollTop = toStart ? 0 : before + Math.max(40, list.clientHeight * 0.7);
	const moved = Math.abs(list.scrollTop - before) > 1;
	return new Promise(done => setTimeout(() => done(moved), moved || toStart ? 120 : 400)); // the last rows may be late
})`

// withPeople returns a snapshot with the rows of the list of people that was last
// read, beside those that the page shows now.
func (v *visitState) withPeople(snapshot Snapshot, now time.Time) Snapshot {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.people) == 0 || now.Sub(v.peopleAt) > peopleLastFor {
		return snapshot
	}
	known := v.people
	for _, row := range snapshot.Rows {
		if !slices.ContainsFunc(v.people, func(other RosterEntry) bool { return other.identity() == row.identity() }) {
			known = append(slices.Clone(known), row)
		}
	}
	snapshot.Rows = known
	return snapshot
}
