package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/google/uuid"

	"standin/internal/account"
	"standin/internal/jobs/job"
)

// control runs the action of a button on a job's page.
func (d *Dashboard) control(req *pageRequest, found job.Job, as account.Caller) error {
	run, notice := d.action(req, req.PathValue("verb"))
	if run == nil {
		return notFound("There is no such action.")
	}
	if err := run(req.Context(), as, found.ID); err != nil {
		return err
	}
	return req.redirect("/jobs/" + found.ID.String() + "?note=" + notice)
}

// action changes a job.
type action func(ctx context.Context, as account.Caller, id uuid.UUID) error

// action returns the action of that name and the name of its notice. It returns
// nil for an unknown name.
func (d *Dashboard) action(req *pageRequest, name string) (action, string) {
	jobs := d.Jobs
	queue := func(command func(context.Context, account.Caller, uuid.UUID) (uuid.UUID, error)) (action, string) {
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
			return jobs.SendChatMessage(ctx, as, id, req.PostForm.Get("text"))
		})
	case "pin":
		return queue(func(ctx context.Context, as account.Caller, id uuid.UUID) (uuid.UUID, error) {
			return jobs.PinParticipant(ctx, as, id, req.PostForm.Get("participantId"))
		})
	}
	return nil, ""
}

// redeliver sends a webhook again.
func (d *Dashboard) redeliver(req *pageRequest, found job.Job, as account.Caller) error {
	if _, err := d.Jobs.Redeliver(req.Context(), as, found.ID, req.PathValue("delivery")); err != nil {
		return err
	}
	return req.redirect("/jobs/" + found.ID.String() + "?note=redelivered#deliveries")
}

// manifest serves the manifest of a recording as a download.
func (d *Dashboard) manifest(req *pageRequest, found job.Job, _ account.Caller) error {
	text, err := d.Recordings.Manifest(req.Context(), found.ID)
	if isMissing(err) {
		return errNoRecording
	}
	if err != nil {
		return fmt.Errorf("read a manifest: %w", err)
	}
	return req.download("application/json", found.ID.String()[:8]+"-manifest.json", text)
}

// download responds with a file to keep.
func (req *pageRequest) download(contentType, name string, content []byte) error {
	header := req.Header()
	header.Set("Content-Type", contentType)
	header.Set("Content-Disposition", `attachment; filename="`+name+`"`)
	_, _ = req.Write(content) // the client may be gone
	return nil
}

// media serves a file of a recording, or a range of it.
func (d *Dashboard) media(req *pageRequest, found job.Job, _ account.Caller) error {
	missing := notFound("The recording has no such file.")
	if found.ManifestURI == "" {
		return missing
	}
	manifest, err := d.manifestOf(req.Context(), found)
	if err != nil {
		return err
	}
	for _, file := range manifest.Media {
		if file.Name != req.PathValue("name") {
			continue
		}
		content, _, modified, err := d.Recordings.OpenMedia(req.Context(), found.ID, file.Name)
		if isMissing(err) {
			return missing
		}
		if err != nil {
			return fmt.Errorf("open a media file: %w", err)
		}
		defer content.Close() // read only
		header := req.Header()
		header.Set("Content-Type", file.ContentType)
		header.Set("Content-Security-Policy", "default-src 'none'; sandbox; media-src 'self'")
		header.Set("Cache-Control", "private, no-cache") // caches must revalidate
		header.Set("ETag", `"`+file.SHA256+`"`)
		if req.URL.Query().Get("download") != "" {
			header.Set("Content-Disposition", `attachment; filename="`+found.ID.String()[:8]+"-"+file.Name+`"`)
		}
		http.ServeContent(&stallWriter{req}, req.Request, file.Name, modified, content)
		return nil
	}
	return missing
}

// stallWriter lets a client pause for stallTimeout between two reads.
type stallWriter struct{ *pageRequest }

const stallTimeout = 30 * time.Second

func (w *stallWriter) Write(data []byte) (int, error) {
	_ = http.NewResponseController(w.pageRequest).SetWriteDeadline(time.Now().Add(stallTimeout)) // see adapt
	return w.pageRequest.Write(data)
}
