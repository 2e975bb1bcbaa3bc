package httpapi

import (
	"context"

	"github.com/google/uuid"

	"standin/client"
	"standin/internal/account"
	"standin/internal/jobs/job"
	"standin/internal/jobs/lifecycle"
	"standin/internal/jobs/zoomstream"
)

func newZoomAppBody(a zoomstream.App) client.ZoomApp {
	return client.ZoomApp{
		ID: a.ID.String(), Label: a.Label, ClientID: a.ClientID, Record: a.Record, HeardAt: timeOrNull(a.HeardAt), CreatedAt: a.CreatedAt,
	}
}

func (a *API) listZoomApps(r *apiRequest, in pageQuery) error {
	apps, err := a.Jobs.Store.ZoomApps(r.Context(), accountTeam(r.caller))
	return respondPart(r, in, lifecycle.ZoomAppList, "zoomApps", apps, func(app zoomstream.App) (int64, uuid.UUID) {
		return app.CreatedAt.UnixMilli(), app.ID
	}, newZoomAppBody, err)
}

// zoomAppRequest is the ZoomAppCreate schema of api/openapi.yaml.
type zoomAppRequest struct {
	Label    string `json:"label"`
	ClientID string `json:"clientId"`
	Record   bool   `json:"record"`
	zoomstream.Secrets
}

func (a *API) createZoomApp(r *apiRequest, in zoomAppRequest) error {
	if r.caller.Mode == job.Test {
		return job.NewError(job.InvalidState, "test bots receive no streams; use a live key")
	}
	app := zoomstream.App{ConsumerID: r.caller.ConsumerID, Label: in.Label, ClientID: in.ClientID, Record: in.Record}
	added, err := a.Jobs.AddZoomApp(r.Context(), app, in.Secrets)
	return r.respondCreated("zoom-apps", added.ID, newZoomAppBody(added), err)
}

func (a *API) deleteZoomApp(ctx context.Context, caller account.Caller, id uuid.UUID) error {
	return a.Jobs.Store.DeleteZoomApp(ctx, accountTeam(caller), id)
}

// receiveZoom takes an event of Zoom.
func (a *API) receiveZoom(r *apiRequest) error {
	body, done, err := r.readBody(maxBodyBytes)
	if err != nil {
		return err
	}
	defer done()
	header := r.Request.Header
	answer, err := a.Jobs.ReceiveZoom(r.Context(), header.Get("x-zm-request-timestamp"), header.Get("x-zm-signature"), body)
	if job.ErrorIs(err, job.Unauthorized) {
		return r.refuseSecret(`Secret header="x-zm-signature"`, "Missing or invalid signature of Zoom.")
	}
	return r.respond(answer, err)
}
