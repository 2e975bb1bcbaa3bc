package store

import (
	"context"
	"time"

	"standin/internal/account/device"
)

// InsertDeviceFlow implements device.Store.
func (s *Store) InsertDeviceFlow(ctx context.Context, flow device.Record, limits device.Limits) error {
	if err := s.checkFlowLimits(ctx, flow, limits); err != nil { // refuses without a write transaction
		return err
	}
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		if err := tx.lockDeviceFlows(ctx); err != nil {
			return err
		}
		// The table stays within the limits even if nothing else deletes expired flows.
		err := tx.exec(ctx, "delete expired device flows", `DELETE FROM device_flows WHERE expires_at <= $1`, flow.CreatedAt)
		if err != nil {
			return err
		}
		if err := tx.checkFlowLimits(ctx, flow, limits); err != nil {
			return err
		}
		return tx.exec(ctx, "insert a device flow", `
			INSERT INTO device_flows (nonce_hash, client_address, agent, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)`,
			flow.NonceHash, flow.ClientAddress, flow.Agent, flow.CreatedAt, flow.ExpiresAt)
	})
}

// checkFlowLimits returns a *device.FullError if the limits admit no further
// flow. It uses the indexes device_flows_client and device_flows_expiry.
func (db *Reader) checkFlowLimits(ctx context.Context, flow device.Record, limits device.Limits) error {
	now := flow.CreatedAt
	for _, check := range []struct {
		limit     int
		condition string
		args      []any
	}{
		{limits.OpenPerClient, `client_address = $1 AND expires_at > $2`, []any{flow.ClientAddress, now}},
		{limits.Open, `expires_at > $1`, []any{now}},
	} {
		var open int
		var next time.Time
		err := db.queryRow(ctx, "count open flows", `SELECT COUNT(*), MIN(expires_at) FROM device_flows WHERE `+check.condition,
			check.args...).Scan(&open, &next)
		if err != nil {
			return err
		}
		if open >= check.limit {
			return &device.FullError{RetryAfter: next.Sub(flow.CreatedAt)}
		}
	}
	return nil
}

// DeviceFlow implements device.Store. It uses the primary key.
func (db *Reader) DeviceFlow(ctx context.Context, nonceHash string, now time.Time) (device.Record, bool, error) {
	return first(ctx, db, "read a device flow", func(r row, flow *device.Record) error {
		return r.Scan(&flow.NonceHash, &flow.ClientAddress, &flow.Agent, &flow.CreatedAt, &flow.ExpiresAt, &flow.Sealed)
	}, `SELECT nonce_hash, client_address, agent, created_at, expires_at, sealed FROM device_flows
		WHERE nonce_hash = $1 AND expires_at > $2`, nonceHash, now)
}

// CompleteDeviceFlow implements device.Store.
func (s *Store) CompleteDeviceFlow(ctx context.Context, nonceHash, sealed string, now time.Time, limits device.Limits) (bool, error) {
	var n int64
	err := s.Write(ctx, func(ctx context.Context, tx *Tx) (err error) {
		if len(sealed) > device.LongSealed {
			if err := tx.lockDeviceFlows(ctx); err != nil {
				return err
			}
			// It uses the index device_flows_long, whose condition is device.LongSealed.
			var used int64
			var next time.Time
			err := tx.queryRow(ctx, "sum up long keys", `SELECT COALESCE(SUM(sealed_bytes), 0), MIN(expires_at) FROM device_flows
				WHERE sealed_bytes > 4096`).Scan(&used, &next)
			if err != nil {
				return err
			}
			if used+int64(len(sealed)) > limits.LongTotal {
				return &device.FullError{RetryAfter: max(0, next.Sub(now))}
			}
		}
		n, err = tx.Affected(ctx, "complete a device flow", `
			UPDATE device_flows SET sealed = $2, sealed_bytes = $3
			WHERE nonce_hash = $1 AND sealed = '' AND expires_at > $4`, nonceHash, sealed, len(sealed), now)
		return err
	})
	return n == 1, err
}

// lockDeviceFlows blocks other transactions that check limits until this one
// ends.
func (tx *Tx) lockDeviceFlows(ctx context.Context) error {
	return tx.queryRow(ctx, "lock device flows", `SELECT id FROM device_flow_lock`+tx.dialect.ForUpdate).Scan(new(int))
}
