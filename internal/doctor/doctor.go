// Package doctor checks what Standin needs on this machine (browser, ffmpeg,
// database, storage, launcher, clock) and says how to fix what is wrong. It can
// also open a meeting page and report which elements of a profile it finds.
//
// The checks change nothing: they run no migration, create no folder, and remove
// what they write to test whether it can be written. Reports contain no secrets
// of the settings.
package doctor

import (
	"context"
	"time"
)

// Run runs all checks, one after the other.
func Run(ctx context.Context, settings Settings) Report {
	checks := []Check{
		checkBrowser(ctx, settings),
		checkFFmpeg(ctx),
		checkDataDir(settings),
		checkDisk(ctx, settings),
		checkMemory(ctx, settings),
	}
	database, databaseClock := checkDatabase(ctx, settings)
	storage, storageClock := checkStorage(ctx, settings)
	clocks := append(databaseClock, storageClock...)
	return Report{Checks: append(checks, database, storage, checkLauncher(ctx, settings), checkClock(ctx, clocks), checkBaseURL(settings), checkProfiles(settings), checkSignIn(ctx, settings, time.Now()), checkMail(settings))}
}
