package dashboard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/job"
	"standin/internal/recording"
)

// control does with a job what one of its page's buttons says.
func (d *Dashboard) control(x *exchange, session account.Session) error {
	found, as, err := d.namedJob(x, session)
	if err != nil {
		return err
	}
	verb, note := d.verb(x, x.r.PathValue("verb"))
	if verb == nil {
		return notFound("There is no such button.")
	}
	if err := verb(x.r.Context(), as, found.ID); err != nil {
		return err
	}
	return x.redirect("/jobs/" + found.ID.String() + "?note=" + note)
}

type verb func(ctx context.Context, as account.Caller, id uuid.UUID) error

// verb returns what a button does, and the note that tells of it; nil for a
// button that there is not.
func (d *Dashboard) verb(x *exchange, name string) (verb, string) {
	jobs := d.settings.Jobs
	queue := func(command func(context.Context, account.Caller, uuid.UUID) (uuid.UUID, error)) (verb, string) {
		return func(ctx context.Context, as account.Caller, id uuid.UUID) error {
			_, err := command(ctx, as, id)
			return err
		}, "queued"
	}
	switch name {
	case "cancel":
		return jobs.Cancel, "cancelled"
	case "delete-recording":
		return jobs.DeleteRecording, "recording-deleted"
	case "ask":
		return queue(jobs.RequestRecordingPermission)
	case "pause":
		return queue(jobs.PauseRecording)
	case "resume":
		return queue(jobs.ResumeRecording)
	case "stop":
		return queue(jobs.StopRecording)
	case "leave":
		return queue(jobs.LeaveCall)
	case "chat":
		return queue(func(ctx context.Context, as account.Caller, id uuid.UUID) (uuid.UUID, error) {
			return jobs.SendChatMessage(ctx, as, id, x.r.PostForm.Get("text"))
		})
	case "pin":
		return queue(func(ctx context.Context, as account.Caller, id uuid.UUID) (uuid.UUID, error) {
			return jobs.PinParticipant(ctx, as, id, x.r.PostForm.Get("participantId"))
		})
	}
	return nil, ""
}

// redeliver has a webhook sent once more.
func (d *Dashboard) redeliver(x *exchange, session account.Session) error {
	found, as, err := d.namedJob(x, session)
	if err != nil {
		return err
	}
	if _, err := d.settings.Jobs.Redeliver(x.r.Context(), as, found.ID, x.r.PathValue("delivery")); err != nil {
		return err
	}
	return x.redirect("/jobs/" + found.ID.String() + "?note=redelivered#deliveries")
}

// payloadPage shows what a webhook carries.
func (d *Dashboard) payloadPage(x *exchange, session account.Session) error {
	found, _, err := d.namedJob(x, session)
	if err != nil {
		return err
	}
	payload, err := d.settings.Records.DeliveryPayload(x.r.Context(), found.ID, x.r.PathValue("delivery"))
	if err != nil {
		return err
	}
	return x.show("payload", "Webhook", struct {
		Job     job.Job
		ID      string
		Payload string
	}{found, x.r.PathValue("delivery"), indented(payload)})
}

// media serves a file of a recording, or a part of it.
func (d *Dashboard) media(x *exchange, session account.Session) error {
	found, _, err := d.namedJob(x, session)
	if err != nil {
		return err
	}
	none := notFound("The recording has no such file.")
	if found.ManifestURI == "" {
		return none
	}
	missing := (*recording.NotFoundError)(nil)
	text, err := d.settings.Recordings.Manifest(x.r.Context(), found.ID)
	if errors.As(err, &missing) {
		return none
	}
	if err != nil {
		return fmt.Errorf("read a manifest: %w", err)
	}
	var manifest recording.Manifest
	if err := json.Unmarshal(text, &manifest); err != nil {
		return fmt.Errorf("read a manifest: %w", err)
	}
	for _, file := range manifest.Media {
		if file.Name != x.r.PathValue("name") {
			continue
		}
		content, _, modified, err := d.settings.Recordings.OpenMedia(x.r.Context(), found.ID, file.Name)
		if errors.As(err, &missing) {
			return none
		}
		if err != nil {
			return fmt.Errorf("open a media file: %w", err)
		}
		defer content.Close() // read only
		header := x.Header()
		header.Set("Content-Type", file.ContentType)
		header.Set("Content-Security-Policy", "default-src 'none'; sandbox; media-src 'self'")
		header.Set("Cache-Control", "private, no-cache") // may be kept, but not shown without asking
		header.Set("ETag", `"`+file.SHA256+`"`)
		if x.r.URL.Query().Get("download") != "" {
			header.Set("Content-Disposition", `attachment; filename="`+found.ID.String()[:8]+"-"+file.Name+`"`)
		}
		http.ServeContent(&steadyWriter{x}, x.r, file.Name, modified, content)
		return nil
	}
	return none
}

// steadyWriter lets an answer take its time as long as the client takes some
// of it.
type steadyWriter struct{ *exchange }

const stallTime = 30 * time.Second

func (w *steadyWriter) Write(data []byte) (int, error) {
	_ = http.NewResponseController(w.exchange).SetWriteDeadline(time.Now().Add(stallTime)) // see serving
	return w.exchange.Write(data)
}
