package store

import (
	"standin/internal/job"
)

// InsertGroup inserts jobs as one group and returns the result of each.
func (s *Store) InsertGroup(records []job.Record) (inserted []bool, errs []error, err error) {
	inserted, errs = make([]bool, len(records)), make([]error, len(records))
	switch e := s.engine.(type) {
	case *postgresEngine:
		group := make([]*grouped[*newJob], len(records))
		for i, r := range records {
			n, err := newJobOf(r)
			if err != nil {
				return nil, nil, err
			}
			group[i] = &grouped[*newJob]{write: n}
		}
		e.commitJobs(append([]*grouped[*newJob](nil), group...))
		for i, w := range group {
			inserted[i], errs[i] = w.write.inserted, w.err
		}
	case *sqliteEngine:
		group := make([]*groupedWrite, len(records))
		for i, r := range records {
			n, err := newJobOf(r)
			if err != nil {
				return nil, nil, err
			}
			group[i] = &groupedWrite{write: sqliteWrite{job: n}}
		}
		e.commitGroup(group)
		for i, w := range group {
			inserted[i], errs[i] = w.write.job.inserted, w.err
		}
	}
	return inserted, errs, nil
}
