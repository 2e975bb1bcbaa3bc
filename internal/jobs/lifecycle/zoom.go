package lifecycle

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/base/text"
	"standin/internal/jobs/event"
	"standin/internal/jobs/job"
	"standin/internal/jobs/zoomstream"
)

// AddZoomApp adds an app of Zoom of a team. The error is a *job.Error with InvalidInput if it cannot be used.
func (s *Service) AddZoomApp(ctx context.Context, a zoomstream.App, secrets zoomstream.Secrets) (zoomstream.App, error) {
	for _, field := range []struct{ name, text string }{
		{"label", a.Label}, {"clientId", a.ClientID}, {"clientSecret", secrets.ClientSecret}, {"secretToken", secrets.SecretToken},
	} {
		if err := text.CheckLine(field.text, maxZoomField); err != nil {
			return a, job.NewInvalidInput(field.name+" "+err.Error(), field.name)
		}
		if field.text == "" && field.name != "label" {
			return a, job.NewInvalidInput(field.name+" is empty", field.name)
		}
	}
	a.ID, a.CreatedAt, a.Label = job.NewID(), s.Now(), cmp.Or(a.Label, a.ClientID)
	encoded, err := json.Marshal(secrets) // #nosec G117 -- it is encrypted
	if err != nil {
		return a, err
	}
	a.Sealed = s.Sealer.Seal(a.ID.String(), string(encoded))
	return a, s.Store.AddZoomApp(ctx, a)
}

// maxZoomField is the most characters of what people write about an app of Zoom.
const maxZoomField = 200

// zoomSecrets decrypts the secrets of an app of Zoom.
func (s *Service) zoomSecrets(a zoomstream.App) (secrets zoomstream.Secrets, err error) {
	opened, err := s.Sealer.Open(a.ID.String(), a.Sealed)
	if err == nil {
		err = json.Unmarshal([]byte(opened), &secrets)
	}
	if err != nil {
		err = fmt.Errorf("read the app of Zoom %s: %w", a.Label, err)
	}
	return secrets, err
}

// ReceiveZoom takes an event of Zoom, which one of the apps must have signed, and returns what a validation is answered with.
// A stream that starts makes the jobs due that wait for it, or gets a job if its app says so. The recording of a stream whose
// permission was withdrawn is deleted. The error is a *job.Error with Unauthorized if no app has signed the event.
func (s *Service) ReceiveZoom(ctx context.Context, timestamp, signature string, body []byte) (answer map[string]string, err error) {
	apps, err := s.Store.ZoomApps(ctx, uuid.Nil)
	if err != nil {
		return nil, err
	}
	signed := false
	for _, app := range apps {
		secrets, err := s.zoomSecrets(app)
		if err != nil {
			return nil, err
		}
		if !zoomstream.Verify(secrets.SecretToken, timestamp, signature, body, s.Now()) {
			continue
		}
		e, err := zoomstream.Parse(body)
		if err != nil {
			return nil, job.NewInvalidInput(err.Error())
		}
		waiting, received, err := s.Store.SaveZoomEvent(ctx, app, e, s.Now())
		if err != nil {
			return nil, err
		}
		caller := account.Caller{ConsumerID: app.ConsumerID, Mode: job.Live}
		switch {
		case e.Kind == zoomstream.Stopped && e.StopReason == zoomstream.Revoked && received != "":
			var id uuid.UUID
			if id, err = uuid.Parse(received); err == nil {
				err = s.DeleteRecording(ctx, caller, id) // while the bot is there, which deletes it itself, Zoom is to tell it again
			}
		case waiting > 0:
			s.Events.Publish(event.JobDue{At: s.Now(), Waiting: true})
		case e.Kind == zoomstream.Started && app.Record:
			all := true
			_, _, err = s.Create(ctx, caller, NewJob{
				ExternalID: "zoom:" + e.Stream.MeetingUUID, MeetingURL: e.Stream.Link(), Platform: job.ZoomSDK, DisplayName: job.DefaultDisplayName,
				Metadata: json.RawMessage(`{}`), AutoLeave: job.DefaultAutoLeave(), Options: job.Options{
					Title: text.CleanLine(e.Stream.Topic, 200), Captions: job.TextOptions{Enabled: &all}, Chat: &all,
				},
			})
		}
		if err != nil {
			return nil, err
		}
		if signed = true; e.Kind == zoomstream.Validation {
			return map[string]string{"plainToken": e.PlainToken, "encryptedToken": zoomstream.Sign(secrets.SecretToken, e.PlainToken)}, nil
		}
	}
	if !signed {
		return nil, job.NewError(job.Unauthorized, "missing or invalid signature of Zoom")
	}
	return map[string]string{}, nil
}

// ZoomStream returns what the bot of a job connects to the stream of its meeting with; nil if there is no stream, and false if the
// team has no app.
func (s *Service) ZoomStream(ctx context.Context, j job.Job) (stream *zoomstream.Access, hasApp bool, err error) {
	apps, err := s.Store.ZoomApps(ctx, j.ConsumerID)
	if err != nil || len(apps) == 0 {
		return nil, false, err
	}
	found, app, ok, err := s.Store.ClaimZoomStream(ctx, j)
	if err != nil || !ok {
		return nil, true, err
	}
	secrets, err := s.zoomSecrets(app)
	return &zoomstream.Access{
		Stream: found, ClientID: app.ClientID, Signature: zoomstream.Sign(secrets.ClientSecret, app.ClientID+","+found.MeetingUUID+","+found.ID),
	}, true, err
}
