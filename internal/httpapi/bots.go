package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"standin/api"
	"standin/internal/httpmw"
	"standin/internal/ingest"
	"standin/internal/recording"
)

// Bots serves bots whose token was checked. A job that does not exist results
// in a *job.Error with InvalidInput and the path jobId.
type Bots interface {
	Ingest(ctx context.Context, event ingest.Event) (ingest.EventResponse, error)
	IngestTexts(ctx context.Context, texts ingest.Texts) (ingest.TextsResponse, error)
	// Heartbeat holds its response for up to wait. When ctx ends earlier, it
	// returns the error of ctx.
	Heartbeat(ctx context.Context, beat ingest.Heartbeat, wait time.Duration) (ingest.HeartbeatResponse, error)
	// AdmitUpload returns nil when media of the attempt may be stored.
	AdmitUpload(ctx context.Context, jobID uuid.UUID, attempt int) error
	// UploadQuota returns what the bots of a job may upload in all.
	UploadQuota(ctx context.Context, jobID uuid.UUID) (recording.UploadQuota, error)
}

// maxWait bounds how long the response to a heartbeat is held.
const maxWait = 60 * time.Second

func (a *API) ingestEvent(w http.ResponseWriter, r *http.Request) error {
	checked, err := a.readBotMessage(w, r, "ingestEvent")
	if err != nil {
		return err
	}
	event := ingest.Event{Data: json.RawMessage("{}")}
	if err := decode(w, checked, &event); err != nil {
		return err
	}
	response, err := a.settings.Bots.Ingest(r.Context(), event)
	if err != nil {
		return fmt.Errorf("ingest an event: %w", err)
	}
	response.Commands = notNull(response.Commands)
	a.writeJSON(w, http.StatusOK, response)
	return nil
}

func (a *API) ingestTexts(w http.ResponseWriter, r *http.Request) error {
	checked, err := a.readBotMessage(w, r, "ingestTexts")
	if err != nil {
		return err
	}
	var texts ingest.Texts
	if err := decode(w, checked, &texts); err != nil {
		return err
	}
	response, err := a.settings.Bots.IngestTexts(r.Context(), texts)
	if err != nil {
		return fmt.Errorf("ingest texts: %w", err)
	}
	a.writeJSON(w, http.StatusOK, response)
	return nil
}

func (a *API) heartbeat(w http.ResponseWriter, r *http.Request) error {
	message, err := a.readBotMessage(w, r, "heartbeat")
	if err != nil {
		return err
	}
	parameters := a.settings.Description.CheckQuery("heartbeat", r.URL.Query())
	if issues := append(message.Issues, parameters.Issues...); len(issues) > 0 {
		return invalid(issues)
	}
	var query struct {
		Wait float64 `json:"wait"` // seconds
	}
	var beat ingest.Heartbeat
	if err := errors.Join(parameters.Decode(&query), message.Decode(&beat)); err != nil {
		return err
	}
	wait := time.Duration(min(query.Wait, maxWait.Seconds()) * float64(time.Second))
	response, err := a.holdHeartbeat(r.Context(), beat, wait)
	if err != nil {
		return fmt.Errorf("process a heartbeat: %w", err)
	}
	response.Commands = notNull(response.Commands)
	a.writeJSON(w, http.StatusOK, response)
	return nil
}

// readBotMessage reads and checks the message of a bot. The token is bound to
// the job and the attempt in the message, so the order of the checks is: no
// bearer 401; unreadable JSON, or jobId or attempt missing or malformed 400;
// wrong token 401. The caller refuses a message with other issues.
func (a *API) readBotMessage(w http.ResponseWriter, r *http.Request, operationID string) (api.Checked, error) {
	token, ok := bearer(r)
	if !ok {
		return api.Checked{}, invalidToken()
	}
	body, err := readBody(w, r)
	if err != nil {
		return api.Checked{}, err
	}
	value, issues := api.Parse(body)
	if len(issues) > 0 {
		return api.Checked{}, invalid(issues)
	}
	identity := a.settings.Description.CheckIdentity(value)
	if len(identity.Issues) > 0 {
		return api.Checked{}, invalid(a.settings.Description.CheckValue(operationID, value).Issues)
	}
	var sender struct {
		JobID   uuid.UUID `json:"jobId"`
		Attempt int       `json:"attempt"`
	}
	if err := identity.Decode(&sender); err != nil {
		return api.Checked{}, err
	}
	httpmw.RecordOf(r).JobID = sender.JobID
	value.(map[string]any)["jobId"] = sender.JobID.String() // tokens are computed over the lower-case form
	if !ingest.ValidToken(a.settings.SigningKey, sender.JobID.String(), sender.Attempt, token) {
		return api.Checked{}, invalidToken()
	}
	return a.settings.Description.CheckValue(operationID, value), nil
}

// holdHeartbeat waits for the response to a heartbeat. When the service shuts
// down, it repeats the heartbeat without waiting.
func (a *API) holdHeartbeat(ctx context.Context, beat ingest.Heartbeat, wait time.Duration) (ingest.HeartbeatResponse, error) {
	if wait == 0 {
		return a.settings.Bots.Heartbeat(ctx, beat, 0)
	}
	acquired, release := context.WithCancel(ctx)
	var watcher sync.WaitGroup
	watcher.Go(func() {
		select {
		case <-a.draining:
			release()
		case <-acquired.Done():
		}
	})
	response, err := a.settings.Bots.Heartbeat(acquired, beat, wait)
	release()
	watcher.Wait()
	if errors.Is(err, context.Canceled) && ctx.Err() == nil {
		return a.settings.Bots.Heartbeat(ctx, beat, 0)
	}
	return response, err
}

// notNull keeps an empty list from being null in JSON.
func notNull(commands []ingest.Command) []ingest.Command {
	if commands == nil {
		return []ingest.Command{}
	}
	return commands
}
