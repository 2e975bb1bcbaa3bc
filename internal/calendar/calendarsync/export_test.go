package calendarsync

import "context"

// RunNext reads a calendar that is due. It reports false when none is.
func (w *Service) RunNext(ctx context.Context) bool { return w.runner.RunNext(ctx) }
