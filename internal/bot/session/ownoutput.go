package session

import (
	"context"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
)

// ownOutput is what a bot plays and shows by itself.
type ownOutput struct {
	options  *job.OutputOptions // nil: nothing
	played   bool
	replaced bool // a command has set the camera
}

// admit plays and shows it on admission.
func (o *ownOutput) admit(ctx context.Context, s *session) {
	if o.options == nil {
		return
	}
	if camera := o.options.Camera; camera != nil && !o.replaced {
		args := ingest.PictureArgs{Show: showName}
		switch {
		case camera.Image != nil:
			args.Show = ingest.ShowImage
		case camera.Page != nil:
			args = ingest.PictureArgs{Show: ingest.ShowPage, URI: camera.Page.URI}
		}
		s.camera.clear(ctx)
		s.camera.add(ctx, ingest.Command{Kind: ingest.OutputCamera}, args)
	}
	if o.options.OnJoin != nil && (!o.played || o.options.ReplayOnJoin) {
		o.played = true
		s.speaker.add(ctx, ingest.Command{Kind: ingest.OutputOnJoin})
	}
}
