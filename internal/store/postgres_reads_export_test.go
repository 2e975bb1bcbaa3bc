package store

import "context"

// GatheredNumber runs a query of one number together with other gathered reads.
func (s *Store) GatheredNumber(ctx context.Context, query string, args ...any) (number int64, err error) {
	err = s.gather(ctx, func(found rows) error {
		return scanAll(found, func(row scanner) error { return row.Scan(&number) })
	}, query, args...)
	return number, err
}
