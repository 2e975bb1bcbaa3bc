package calendar

import (
	"slices"
	"time"
)

// Occurrences returns the meetings of an event that start before to and end
// after from, in the sequence of their starts. events are the event, if it is
// known, and its changed occurrences. All-day events, cancelled occurrences and
// events with a Problem are left out, and so are changes that the event no longer
// permits: of occurrences that the series does not have, that EXDATE excludes since,
// or that are older than an event that no longer is a series. Occurrences have no
// Series. Errors are those of the budget.
func Occurrences(events []Event, from, to time.Time, budget *Budget) (found []Event, err error) {
	var whole *Event
	var changes []Event
	for i := range events {
		if events[i].Original.IsZero() {
			whole = &events[i]
		} else {
			changes = append(changes, events[i])
		}
	}
	slices.SortFunc(changes, func(a, b Event) int { return a.Original.Compare(b.Original) })
	switch {
	case whole == nil:
		found = changes
	case whole.Cancelled:
	case whole.Series == nil:
		found = append(slices.DeleteFunc(changes, func(e Event) bool { return e.Stamp.Before(whole.Stamp) }), *whole)
	default:
		if found, err = whole.expand(changes, from, to, budget); err != nil {
			return nil, err
		}
	}
	found = slices.DeleteFunc(found, func(e Event) bool {
		return e.Cancelled || e.AllDay || e.Problem != "" || !e.During(from, to)
	})
	for i := range found {
		found[i].Series = nil
	}
	slices.SortStableFunc(found, func(a, b Event) int { return a.Start.Compare(b.Start) })
	return found, nil
}

// During reports whether an event starts before to and ends after from.
func (e Event) During(from, to time.Time) bool {
	return e.Start.Before(to) && (e.End.After(from) || e.Start.After(from))
}

// expand returns the occurrences of a series that start from before to, and
// those that are changed. changes are sorted.
func (e Event) expand(changes []Event, from, to time.Time, budget *Budget) (found []Event, err error) {
	var later []Event // changes of an occurrence and those after it
	for _, change := range changes {
		if !change.During(from, to) && !change.ThisAndFuture {
			continue
		}
		same, err := e.Series.starts(change.Original, change.Original.Add(time.Second), true, budget)
		switch {
		case err != nil:
			return nil, err
		case len(same) == 0 || e.Series.excludes(same[0]) && !change.Stamp.After(e.Stamp):
			continue
		}
		found = append(found, change)
		if change.ThisAndFuture {
			later = append(later, change)
		}
	}
	length := e.End.Sub(e.Start)
	starts, err := e.Series.starts(from.Add(-length), to, false, budget)
	if err != nil {
		return nil, err
	}
	for _, start := range starts {
		if err := budget.Spend(1 + len(changes)/8); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(changes, func(change Event) bool { return change.Original.Equal(start) }) {
			continue
		}
		one := e
		one.Start, one.End = start, start.Add(length)
		for _, change := range later {
			if start.After(change.Original) {
				one = change
				one.Start = start.Add(change.Start.Sub(change.Original))
				one.End = one.Start.Add(change.End.Sub(change.Start))
			}
		}
		one.Original, one.ThisAndFuture = start, false
		found = append(found, one)
	}
	return found, nil
}
