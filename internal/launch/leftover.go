package launch

import (
	"os"
	"slices"

	"github.com/google/uuid"
)

// Left are the folders of a job's bots that run no more, by attempt, as far as
// they are still there: what such a bot had no time to upload is in them.
func (p *Process) LeftoverDirs(jobID uuid.UUID) map[int]string {
	folders, err := os.ReadDir(p.settings.Dir)
	if err != nil {
		p.settings.Log.Warn("cannot look for what bots left", "job", jobID, "error", err)
		return nil
	}
	left := make(map[int]string)
	for _, folder := range slices.DeleteFunc(folders, func(entry os.DirEntry) bool { return !entry.IsDir() }) {
		id, attempt, ok := parseFolder(folder.Name())
		if ok && id == jobID && p.State(jobID, attempt) != Running {
			left[attempt] = p.folder(jobID, attempt)
		}
	}
	return left
}
