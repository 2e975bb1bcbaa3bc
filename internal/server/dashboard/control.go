package dashboard

import (
	"net/http"
	"time"

	"standin/internal/account"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/recording"
)

// control runs the action of a button on a job's page.
func (d *Dashboard) control(req *pageRequest, found job.Job, as account.Caller) (err error) {
	ctx, notice := req.Context(), "queued"
	switch verb := req.PathValue("verb"); verb {
	case "cancel":
		notice, err = "cancelled", d.Jobs.Cancel(ctx, as, found.ID)
	case "delete-recording":
		notice, err = "recording-deleted", d.Jobs.DeleteRecording(ctx, as, found.ID)
	case "chat":
		_, err = d.Jobs.SendChatMessage(ctx, as, found.ID, req.PostForm.Get("text"))
	case "pin":
		_, err = d.Jobs.PinParticipant(ctx, as, found.ID, req.PostForm.Get("participantId"))
	default:
		kind, known := map[string]ingest.CommandKind{
			"ask": ingest.RequestRecordingPermission, "pause": ingest.PauseRecording, "resume": ingest.ResumeRecording,
			"stop": ingest.StopRecording, "leave": ingest.LeaveCall,
		}[verb]
		if !known {
			return notFound("There is no such action.")
		}
		_, err = d.Jobs.QueueCommand(ctx, as, found.ID, kind, nil)
	}
	return req.redirectAfter(err, "/jobs/"+found.ID.String()+"?note="+notice)
}

func (d *Dashboard) redeliver(req *pageRequest, found job.Job, as account.Caller) error {
	_, err := d.Jobs.Redeliver(req.Context(), as, found.ID, req.PathValue("delivery"))
	return req.redirectAfter(err, "/jobs/"+found.ID.String()+"?note=redelivered#deliveries")
}

// manifest serves the manifest of a recording as a download.
func (d *Dashboard) manifest(req *pageRequest, found job.Job, _ account.Caller) error {
	text, err := d.Recordings.Manifest(req.Context(), found.ID)
	if recording.IsNotFound(err) {
		return errNoRecording
	}
	if err != nil {
		return err
	}
	return req.download("application/json", found.ID.String()[:8]+"-manifest.json", text)
}

// download responds with a file to keep.
func (req *pageRequest) download(contentType, name string, content []byte) error {
	req.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	return req.write(contentType, content)
}

// write responds with content.
func (req *pageRequest) write(contentType string, content []byte) error {
	req.Header().Set("Content-Type", contentType)
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
		content, modified, err := d.Recordings.OpenMedia(req.Context(), found.ID, file.Name)
		if recording.IsNotFound(err) {
			return missing
		}
		if err != nil {
			return err
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
