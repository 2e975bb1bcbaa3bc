package store

import (
	"context"
	"time"

	"standin/internal/account"
)

// ClaimRequest claims a request with an Idempotency-Key that is new, that was kept long enough, or whose claim before
// the time abandoned has no answer. Otherwise it returns what is kept under the key.
func (s *Store) ClaimRequest(
	ctx context.Context, r account.KeptRequest, abandoned time.Time,
) (kept account.KeptRequest, claimed bool, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		kept = r
		n, err := tx.Affected(ctx, "claim a request", `INSERT INTO kept_requests (consumer_id, mode, key, hash, at) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (consumer_id, mode, key) DO UPDATE SET hash = excluded.hash, at = excluded.at, answer = ''
			WHERE kept_requests.at <= $6 OR kept_requests.answer = '' AND kept_requests.at <= $7`,
			r.ConsumerID, r.Mode, r.Key, r.Hash, r.At, r.At.Add(-account.KeptLifetime), abandoned)
		if claimed = n == 1; err != nil || claimed {
			return err
		}
		kept, err = queryOne(ctx, tx.Reader, "request", func(found row, kept *account.KeptRequest) error {
			*kept = r
			return found.Scan(&kept.Hash, &kept.Answer, &kept.At)
		}, `SELECT hash, answer, at FROM kept_requests WHERE consumer_id = $1 AND mode = $2 AND key = $3`, r.ConsumerID, r.Mode, r.Key)
		return err
	})
	return kept, claimed, err
}

// KeepAnswer keeps the answer to a claimed request.
func (s *Store) KeepAnswer(ctx context.Context, r account.KeptRequest) error {
	return s.exec(ctx, "keep an answer", `UPDATE kept_requests SET answer = $5
		WHERE consumer_id = $1 AND mode = $2 AND key = $3 AND hash = $4`,
		r.ConsumerID, r.Mode, r.Key, r.Hash, r.Answer)
}

// ForgetRequest removes a claim, so that the request can be repeated.
func (s *Store) ForgetRequest(ctx context.Context, r account.KeptRequest) error {
	return s.exec(ctx, "forget a request", `
		DELETE FROM kept_requests WHERE consumer_id = $1 AND mode = $2 AND key = $3 AND hash = $4 AND answer = ''`,
		r.ConsumerID, r.Mode, r.Key, r.Hash)
}
