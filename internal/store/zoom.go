package store

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"standin/internal/jobs/job"
	"standin/internal/jobs/zoomstream"
)

// maxZoomApps is how many apps of Zoom a service can have: each event is checked with the secret of each.
const maxZoomApps = 1000

// maxTeamZoomApps is how many a team can have.
const maxTeamZoomApps = 20

const selectZoomApps = `SELECT id, consumer_id, label, client_id, record, sealed, heard_at, created_at FROM zoom_apps `

func scanZoomApp(r row, a *zoomstream.App) error {
	return r.Scan(&a.ID, &a.ConsumerID, &a.Label, &a.ClientID, &a.Record, &a.Sealed, &a.HeardAt, &a.CreatedAt)
}

// ZoomApps returns the apps of Zoom of a consumer; with uuid.Nil, all.
func (db *Reader) ZoomApps(ctx context.Context, consumer uuid.UUID) ([]zoomstream.App, error) {
	return List(ctx, db, "read the apps of Zoom", scanZoomApp, selectZoomApps+`WHERE $1 = $2 OR consumer_id = $1 ORDER BY created_at, id`,
		consumer, uuid.Nil)
}

// AddZoomApp adds an app of Zoom. One that its team has already, or too many, are a *job.Error with InvalidState.
func (s *Store) AddZoomApp(ctx context.Context, a zoomstream.App) error {
	return s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		apps, err := tx.ZoomApps(ctx, uuid.Nil)
		if err != nil {
			return err
		}
		own := slices.DeleteFunc(slices.Clone(apps), func(known zoomstream.App) bool { return known.ConsumerID != a.ConsumerID })
		if len(own) >= maxTeamZoomApps || len(apps) >= maxZoomApps {
			return job.NewInvalidState("a team can have %d apps of Zoom, and all teams together %d; there are as many",
				maxTeamZoomApps, maxZoomApps)
		}
		n, err := tx.Affected(ctx, "add an app of Zoom", `INSERT INTO zoom_apps (id, consumer_id, label, client_id, record, sealed, created_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`, a.ID, a.ConsumerID, a.Label, a.ClientID, a.Record, a.Sealed, a.CreatedAt)
		if err == nil && n == 0 {
			err = job.NewInvalidState("there is an app with this client ID already")
		}
		return err
	})
}

// DeleteZoomApp deletes an app of Zoom of a consumer, or returns a *job.Error with NotFound. Its bots stay in their meetings.
func (s *Store) DeleteZoomApp(ctx context.Context, consumer, id uuid.UUID) error {
	return s.change(ctx, "app of Zoom", `DELETE FROM zoom_apps WHERE id = $1 AND consumer_id = $2`, id, consumer)
}

// SaveZoomEvent saves what Zoom has told an app. Of a stream that starts, it makes the jobs due that wait for it, and returns
// how many; of one that has stopped, it returns the job that received it.
func (s *Store) SaveZoomEvent(ctx context.Context, app zoomstream.App, e zoomstream.Event,
	now time.Time) (waiting int64, jobID string, err error) {
	stream := e.Stream
	err = s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		err := tx.exec(ctx, "note an event of Zoom", `UPDATE zoom_apps SET heard_at = $2 WHERE id = $1`, app.ID, now)
		if err == nil {
			err = tx.exec(ctx, "delete old streams", `DELETE FROM zoom_streams WHERE started_at < $1`, now.Add(-48*time.Hour))
		}
		if err != nil {
			return err
		}
		switch e.Kind {
		case zoomstream.Meeting:
			return tx.exec(ctx, "save a meeting", `INSERT INTO zoom_streams (id, app_id, meeting_uuid, meeting_key, number, server_urls,
				started_at, stopped_at) VALUES ($1, $2, $3, '', $4, '', $5, $5) ON CONFLICT DO NOTHING`,
				"meeting "+stream.MeetingUUID, app.ID, stream.MeetingUUID, stream.Number, now)
		case zoomstream.Stopped:
			known, found, err := first(ctx, tx.Reader, "find a stream", scanColumn[string],
				`SELECT job_id FROM zoom_streams WHERE id = $1 AND app_id = $2`, stream.ID, app.ID)
			if jobID = known; err != nil || !found {
				return err
			}
			return tx.exec(ctx, "end a stream", `UPDATE zoom_streams SET stopped_at = $2 WHERE id = $1`, stream.ID, now)
		case zoomstream.Started:
		default:
			return nil
		}
		if stream.Number == "" {
			if stream.Number, _, err = first(ctx, tx.Reader, "find the number of a meeting", scanColumn[string],
				`SELECT number FROM zoom_streams WHERE id = $1 AND app_id = $2`, "meeting "+stream.MeetingUUID, app.ID); err != nil {
				return err
			}
		}
		key := MeetingKey(stream.Link())
		if err := tx.exec(ctx, "save a stream", `INSERT INTO zoom_streams (id, app_id, meeting_uuid, meeting_key, number, server_urls, started_at)
			VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO UPDATE SET server_urls = excluded.server_urls, stopped_at = NULL
			WHERE zoom_streams.app_id = excluded.app_id`,
			stream.ID, app.ID, stream.MeetingUUID, key, stream.Number, stream.ServerURLs, now); err != nil {
			return err
		}
		waiting, err = tx.Affected(ctx, "wake the jobs that wait for a stream", `UPDATE jobs SET wake_at = $2 WHERE meeting_key = $1
			AND platform = 'zoom-sdk' AND mode = 'live' AND wake_at IS NOT NULL AND status IN ('scheduled', 'pending') AND join_at <= $2
			AND lease = '' AND consumer_id = $3`, key, now, app.ConsumerID)
		return err
	})
	return waiting, jobID, err
}

// ClaimZoomStream returns the stream of a job's meeting, and its app; false if there is none that no other bot receives.
func (s *Store) ClaimZoomStream(ctx context.Context, j job.Job) (stream zoomstream.Stream, app zoomstream.App, found bool, err error) {
	err = s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		stream, found, err = first(ctx, tx.Reader, "find a stream", func(r row, s *zoomstream.Stream) error {
			return r.Scan(&s.ID, &s.AppID, &s.MeetingUUID, &s.Number, &s.ServerURLs)
		}, `SELECT s.id, s.app_id, s.meeting_uuid, s.number, s.server_urls FROM zoom_streams s JOIN zoom_apps a ON a.id = s.app_id
			WHERE s.meeting_key = $1 AND s.stopped_at IS NULL AND a.consumer_id = $2 AND (s.job_id IN ('', $3)
				OR NOT EXISTS (SELECT 1 FROM jobs j WHERE j.id = s.job_id AND j.wake_at IS NOT NULL))
			ORDER BY s.started_at DESC, s.id LIMIT 1`, MeetingKey(j.MeetingURL), j.ConsumerID, j.ID.String())
		if err != nil || !found {
			return err
		}
		if app, err = queryOne(ctx, tx.Reader, "app of Zoom", scanZoomApp, selectZoomApps+`WHERE id = $1`, stream.AppID); err != nil {
			return err
		}
		return tx.exec(ctx, "claim a stream", `UPDATE zoom_streams SET job_id = $2 WHERE id = $1`, stream.ID, j.ID.String())
	})
	return stream, app, found, err
}
