package formats

import "context"

// RunNext composes a picture that is due. It reports false when none is.
func (c *Composer) RunNext(ctx context.Context) bool { return c.runner.RunNext(ctx) }
