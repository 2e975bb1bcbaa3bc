package transcript

import "context"

// RunNext works on a transcription that is due. It reports false when none is.
func (w *Worker) RunNext(ctx context.Context) bool { return w.runner.RunNext(ctx) }
