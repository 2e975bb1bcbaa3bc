package store

import (
	"context"
	"fmt"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/store/sqldb"
)

// AppendAudit implements account.AuditStore.
func (s *Store) AppendAudit(ctx context.Context, e account.AuditEntry) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		_, err := tx.exec(ctx, `INSERT INTO audit_log (id, consumer_id, at, actor, action, target) VALUES ($1, $2, $3, $4, $5, $6)`,
			e.ID, e.ConsumerID, millis(e.At), e.Actor, e.Action, e.Target)
		if err != nil {
			return fmt.Errorf("append to the audit log: %w", err)
		}
		return nil
	})
}

// AuditLog implements account.AuditStore. It uses the index audit_log_consumer.
func (db *Reader) AuditLog(ctx context.Context, consumerID, before uuid.UUID, limit int) ([]account.AuditEntry, error) {
	if before == uuid.Nil {
		before = uuid.Max
	}
	entries, err := list(ctx, db, func(row sqldb.Row) (e account.AuditEntry, err error) {
		err = row.Scan(&e.ID, &e.ConsumerID, timeColumn{&e.At}, &e.Actor, &e.Action, &e.Target)
		return e, err
	}, `SELECT id, consumer_id, at, actor, action, target FROM audit_log WHERE consumer_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3`, consumerID, before, limit)
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	return entries, nil
}
