package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"standin/internal/account/device"
)

// InsertDeviceFlow implements device.Store.
func (s *Store) InsertDeviceFlow(ctx context.Context, flow device.Record, limits device.Limits) error {
	err := s.admitDeviceFlow(ctx, flow, limits) // so that a refusal takes no turn to write
	if err == nil {
		err = s.Write(ctx, func(q *Queries) error { return q.addDeviceFlow(ctx, flow, limits) })
	}
	if err != nil {
		return fmt.Errorf("keep a device flow: %w", err)
	}
	return nil
}

// addDeviceFlow erases what has ended, so that the table holds no more than
// the limit even if nobody else erases, and adds a flow.
func (q *Queries) addDeviceFlow(ctx context.Context, flow device.Record, limits device.Limits) error {
	if err := q.lockDeviceFlows(ctx); err != nil {
		return err
	}
	if err := q.eraseDeviceFlows(ctx, flow.CreatedAt); err != nil {
		return err
	}
	if err := q.admitDeviceFlow(ctx, flow, limits); err != nil {
		return err
	}
	_, err := q.exec(ctx, `
		INSERT INTO device_flows (nonce_hash, opener, agent, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)`,
		flow.NonceHash, flow.ClientAddress, flow.Agent, millis(flow.CreatedAt), millis(flow.ExpiresAt))
	return err
}

// admitDeviceFlow sees whether there is room for another flow. It uses the
// indexes device_flows_opener and device_flows_expiry.
func (q *Queries) admitDeviceFlow(ctx context.Context, flow device.Record, limits device.Limits) error {
	var open int
	var next sql.NullInt64
	full := func() error { return &device.FullError{RetryAfter: fromNull(next).Sub(flow.CreatedAt)} }
	err := q.queryRow(ctx, `SELECT COUNT(*), MIN(expires_at) FROM device_flows WHERE opener = $1 AND expires_at > $2`,
		flow.ClientAddress, millis(flow.CreatedAt)).Scan(&open, &next)
	if err != nil {
		return fmt.Errorf("count the opener's flows: %w", err)
	}
	if open >= limits.OpenPerClient {
		return full()
	}
	err = q.queryRow(ctx, `SELECT COUNT(*), MIN(expires_at) FROM device_flows WHERE expires_at > $1`,
		millis(flow.CreatedAt)).Scan(&open, &next)
	if err != nil {
		return fmt.Errorf("count the open flows: %w", err)
	}
	if open >= limits.Open {
		return full()
	}
	return nil
}

// DeviceFlow implements device.Store. It uses the primary key.
func (q *Queries) DeviceFlow(ctx context.Context, nonceHash string, now time.Time) (device.Record, bool, error) {
	var flow device.Record
	var created, expires int64
	err := q.queryRow(ctx, `
		SELECT nonce_hash, opener, agent, created_at, expires_at, sealed FROM device_flows
		WHERE nonce_hash = $1 AND expires_at > $2`, nonceHash, millis(now)).
		Scan(&flow.NonceHash, &flow.ClientAddress, &flow.Agent, &created, &expires, &flow.Sealed)
	if errors.Is(err, sql.ErrNoRows) {
		return device.Record{}, false, nil
	}
	if err != nil {
		return device.Record{}, false, fmt.Errorf("read a device flow: %w", err)
	}
	flow.CreatedAt, flow.ExpiresAt = fromMillis(created), fromMillis(expires)
	return flow, true, nil
}

// CompleteDeviceFlow implements device.Store.
func (s *Store) CompleteDeviceFlow(ctx context.Context, nonceHash, sealed string, now time.Time, limits device.Limits) (bool, error) {
	var n int64
	err := s.Write(ctx, func(q *Queries) (err error) {
		if len(sealed) > device.LongSealed {
			if err := q.admitLong(ctx, int64(len(sealed)), now, limits); err != nil {
				return err
			}
		}
		n, err = q.exec(ctx, `
			UPDATE device_flows SET sealed = $2, sealed_bytes = $3
			WHERE nonce_hash = $1 AND sealed = '' AND expires_at > $4`, nonceHash, sealed, len(sealed), millis(now))
		return err
	})
	if err != nil {
		return false, fmt.Errorf("complete a device flow: %w", err)
	}
	return n == 1, nil
}

// admitLong sees whether there is room for a long key. It uses the
// index device_flows_long, whose condition is device.LongSealed.
func (q *Queries) admitLong(ctx context.Context, length int64, now time.Time, limits device.Limits) error {
	if err := q.lockDeviceFlows(ctx); err != nil {
		return err
	}
	var kept int64
	var next sql.NullInt64
	err := q.queryRow(ctx, `SELECT COALESCE(SUM(sealed_bytes), 0), MIN(expires_at) FROM device_flows WHERE sealed_bytes > 4096`).
		Scan(&kept, &next)
	if err != nil {
		return fmt.Errorf("add up the long ones: %w", err)
	}
	if kept+length > limits.LongTotal {
		return &device.FullError{RetryAfter: max(0, fromNull(next).Sub(now))}
	}
	return nil
}

// DeleteExpiredDeviceFlows implements device.Store. It takes no turn to write when
// there is nothing to erase. It uses the index device_flows_expiry.
func (s *Store) DeleteExpiredDeviceFlows(ctx context.Context, now time.Time) (time.Time, bool, error) {
	next, ok, err := s.nextDeviceExpiry(ctx)
	if err != nil || !ok || next.After(now) {
		return next, ok, err
	}
	err = s.Write(ctx, func(q *Queries) error {
		if err := q.eraseDeviceFlows(ctx, now); err != nil {
			return err
		}
		next, ok, err = q.nextDeviceExpiry(ctx)
		return err
	})
	return next, ok, err
}

// nextDeviceExpiry returns when the next flow ends; false when there is none.
func (q *Queries) nextDeviceExpiry(ctx context.Context) (time.Time, bool, error) {
	var next sql.NullInt64
	if err := q.queryRow(ctx, `SELECT MIN(expires_at) FROM device_flows`).Scan(&next); err != nil {
		return time.Time{}, false, fmt.Errorf("find the next device flow to end: %w", err)
	}
	return fromNull(next), next.Valid, nil
}

func (q *Queries) eraseDeviceFlows(ctx context.Context, now time.Time) error {
	if _, err := q.exec(ctx, `DELETE FROM device_flows WHERE expires_at <= $1`, millis(now)); err != nil {
		return fmt.Errorf("erase device flows that have ended: %w", err)
	}
	return nil
}

// lockDeviceFlows keeps others from adding to what is counted until the
// transaction ends.
func (q *Queries) lockDeviceFlows(ctx context.Context) error {
	var id int
	if err := q.queryRow(ctx, `SELECT id FROM device_flow_gate`+q.forUpdate).Scan(&id); err != nil {
		return fmt.Errorf("lock the device flows: %w", err)
	}
	return nil
}
