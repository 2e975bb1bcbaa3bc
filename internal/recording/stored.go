package recording

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"time"

	"github.com/google/uuid"
)

// StoredObject describes an object in storage.
type StoredObject struct {
	Name   string
	Bytes  int64
	SHA256 string // hex
	New    bool   // false when the same object already existed
}

// AttemptUploads lists the uploads of one attempt's bot.
type AttemptUploads struct {
	Attempt int
	Files   []Upload // sorted by name
}

// Upload is an uploaded file.
type Upload struct {
	Name  string
	Bytes int64
}

// Capture is a capture of a page that a bot uploaded.
type Capture struct {
	Attempt int
	Name    string
	Bytes   int64
}

// UploadQuota limits the uploads of the bots of one job.
type UploadQuota struct {
	Files int
	Bytes int64
	Live  bool // the job has not ended
}

// JobUsage describes the stored objects of a job.
type JobUsage struct {
	JobID      uuid.UUID
	Objects    int
	Bytes      int64
	Newest     time.Time // time of the last write
	Uploads    int       // number of these that are bot uploads, without captures of pages
	Unfinished int       // number of these that are writes in progress or interrupted writes
}

// Attachment is a file to attach to a finished recording.
type Attachment struct {
	File
	Content io.Reader
}

// TextFile is a text file of a recording.
type TextFile struct {
	Name        string
	Kind        MediaKind
	ContentType string
	Content     []byte
}

// Attachment returns the file with its content.
func (f TextFile) Attachment() Attachment {
	sum := sha256.Sum256(f.Content)
	return Attachment{Content: bytes.NewReader(f.Content), File: File{
		Name: f.Name, Kind: f.Kind, ContentType: f.ContentType, Bytes: int64(len(f.Content)), SHA256: hex.EncodeToString(sum[:]),
	}}
}
