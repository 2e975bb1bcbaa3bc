package job

import "time"

// Screenshot is the newest picture of the meeting page of a job's bot. The zero Screenshot
// is none.
type Screenshot struct {
	TakenAt time.Time
	Image   []byte // JPEG

	WatchedUntil time.Time // the bot sends pictures until then
}
