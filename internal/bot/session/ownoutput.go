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
	if o.options.Camera != nil && !o.replaced {
		s.camera.showOwn(ctx, *o.options.Camera)
	}
	if o.options.OnJoin != nil && (!o.played || o.options.ReplayOnJoin) {
		o.played = true
		s.speaker.add(ctx, ingest.Command{Kind: ingest.OutputOnJoin})
	}
}

// settleOutput acknowledges a command, unless the bot played or showed it by itself.
func (c *commands) settleOutput(command ingest.Command, err error) {
	if command.ID != "" {
		c.settle(command, err)
	}
}
