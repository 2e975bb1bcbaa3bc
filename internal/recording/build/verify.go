package build

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"standin/internal/recording"
)

// Allowed differences between a file and its manifest. Containers round to
// frames, and the last audio packet may extend beyond the end.
const (
	maxDurationError = 100 * time.Millisecond // duration stated by the container
	maxDecodingError = time.Second            // last decoded timestamp
	maxStart         = 100 * time.Millisecond // first timestamp
)

// Recordings reads stored recordings. It is implemented by storage.Recordings and
// returns the errors of package recording.
type Recordings interface {
	Manifest(ctx context.Context, jobID uuid.UUID) ([]byte, error)
	OpenMedia(ctx context.Context, jobID uuid.UUID, name string) (content io.ReadSeekCloser, modified time.Time, err error)
}

// Verifier compares recordings with their manifests. It does not change storage or
// write to disk.
type Verifier struct {
	Recordings Recordings
	Tools      Tools
}

// VerifyReport is the result of verifying a recording.
type VerifyReport struct {
	JobID    string       `json:"jobId"`
	Problems []string     `json:"problems"` // problems of the whole recording
	Files    []FileReport `json:"files"`
}

// FileReport is the result of verifying one file.
type FileReport struct {
	Name      string   `json:"name"`
	Bytes     int64    `json:"bytes"`     // the stored size
	SHA256    string   `json:"sha256"`    // checksum of the stored file
	DecodedMs int64    `json:"decodedMs"` // the last decoded timestamp; 0 for text
	Codecs    string   `json:"codecs"`
	Problems  []string `json:"problems"`
}

// OK reports whether there are no problems.
func (v VerifyReport) OK() bool {
	return len(v.Problems) == 0 && !slices.ContainsFunc(v.Files, func(f FileReport) bool { return len(f.Problems) > 0 })
}

// Verify reads and decodes all files of a job's recording. The report lists the
// problems of the recording; an error means that it could not be verified.
func (v *Verifier) Verify(ctx context.Context, jobID uuid.UUID) (VerifyReport, error) {
	report := VerifyReport{JobID: jobID.String(), Problems: []string{}, Files: []FileReport{}}
	text, err := v.Recordings.Manifest(ctx, jobID)
	if recording.IsNotFound(err) {
		report.Problems = append(report.Problems, "the manifest is missing")
		return report, nil
	}
	if err != nil {
		return VerifyReport{}, err
	}
	var manifest recording.Manifest
	if err := json.Unmarshal(text, &manifest); err != nil {
		report.Problems = append(report.Problems, fmt.Sprintf("the manifest is unreadable: %v", err))
		return report, nil
	}
	report.Problems = append(report.Problems, checkManifest(manifest, jobID)...)
	for _, media := range manifest.Media {
		file, err := v.verifyFile(ctx, jobID, media.File)
		if err != nil {
			return VerifyReport{}, fmt.Errorf("verify %s of job %s: %w", media.Name, jobID, err)
		}
		report.Files = append(report.Files, file)
	}
	return report, nil
}

// checkManifest checks a manifest without its media files. It returns the problems.
func checkManifest(manifest recording.Manifest, jobID uuid.UUID) []string {
	var problems []string
	if manifest.SchemaVersion != recording.SchemaVersion {
		problems = append(problems, fmt.Sprintf("the manifest's version is %d, not %d", manifest.SchemaVersion, recording.SchemaVersion))
	}
	if manifest.JobID != jobID.String() {
		problems = append(problems, fmt.Sprintf("the manifest is of job %q", manifest.JobID))
	}
	for _, gap := range manifest.Gaps {
		if gap.StartMs < 0 || gap.EndMs <= gap.StartMs {
			problems = append(problems, fmt.Sprintf("a gap goes from %d to %d ms", gap.StartMs, gap.EndMs))
		}
		if !manifest.Partial && !gap.Requested() {
			problems = append(problems, "the recording is not called partial, and has a gap of reason "+gap.Reason)
		}
	}
	return problems
}

// verifyFile verifies one file.
func (v *Verifier) verifyFile(ctx context.Context, jobID uuid.UUID, reported recording.File) (FileReport, error) {
	found := FileReport{Name: reported.Name, Problems: []string{}}
	addProblem := func(format string, arguments ...any) {
		found.Problems = append(found.Problems, fmt.Sprintf(format, arguments...))
	}
	content, _, err := v.Recordings.OpenMedia(ctx, jobID, reported.Name)
	switch {
	case recording.IsNotFound(err):
		addProblem("the file is missing")
		return found, nil
	case errors.As(err, new(*recording.NameError)):
		addProblem("the file cannot have that name")
		return found, nil
	case err != nil:
		return found, err
	}
	hasher := sha256.New()
	found.Bytes, err = io.Copy(hasher, content)
	if err := errors.Join(err, content.Close()); err != nil {
		return found, err
	}
	found.SHA256 = hex.EncodeToString(hasher.Sum(nil))
	if found.Bytes != reported.Bytes {
		addProblem("it has %d bytes, not %d", found.Bytes, reported.Bytes)
	}
	if found.SHA256 != reported.SHA256 {
		addProblem("its SHA-256 is %s, not %s", found.SHA256, reported.SHA256)
	}
	if !slices.Contains([]recording.MediaKind{recording.Chat, recording.Captions, recording.Transcript}, reported.Kind) {
		err = v.serveFile(ctx, jobID, reported.Name, func(address string) error { return v.decode(ctx, address, reported, &found, addProblem) })
	}
	return found, err
}

// decode decodes a file and compares its content with the manifest.
func (v *Verifier) decode(ctx context.Context, address string, reported recording.File, found *FileReport,
	addProblem func(string, ...any)) error {
	media, err := v.Tools.probe(ctx, address, found.Bytes)
	if RejectedInput(err) {
		addProblem("it cannot be read: %v", errorLine(err))
		return nil
	}
	if err != nil {
		return err
	}
	found.Codecs = media.codecs()
	if found.Codecs != reported.Codecs {
		addProblem("its codecs are %q, not %q", found.Codecs, reported.Codecs)
	}
	wantDuration := time.Duration(reported.DurationMs) * time.Millisecond
	if (media.Duration - wantDuration).Abs() > maxDurationError {
		addProblem("it states a length of %d ms, not %d", media.Duration.Milliseconds(), reported.DurationMs)
	}
	picture, _ := media.stream("video")
	if reported.Kind == recording.Video && (picture.Width != reported.Width || picture.Height != reported.Height) {
		addProblem("its picture is %dx%d, not %dx%d", picture.Width, picture.Height, reported.Width, reported.Height)
	}
	if media.Start.Abs() > maxStart {
		addProblem("it begins at %v, not at 0", media.Start)
	}
	if reported.Kind == recording.Video {
		// It plays from its start only if that is a key frame.
		text, err := runTool(ctx, limitsFor(found.Bytes), v.Tools.FFprobe, "-v", "error", "-format_whitelist", allowedFormats, "-of",
			"csv=print_section=0",
			"-select_streams", "v:0", "-read_intervals", "%+#1", "-show_entries", "packet=flags", address)
		switch {
		case RejectedInput(err):
			addProblem("its beginning cannot be read: %v", errorLine(err))
		case err != nil:
			return err
		case !bytes.HasPrefix(text, []byte("K")):
			addProblem("it does not begin with a key frame")
		}
	}
	decoded, message, err := v.Tools.decode(ctx, address, found.Bytes)
	if err != nil {
		return err
	}
	found.DecodedMs = decoded.Milliseconds()
	if message != "" {
		addProblem("it cannot be decoded: %s", message)
	} else if (decoded - wantDuration).Abs() > maxDecodingError {
		addProblem("what can be decoded ends at %d ms, not %d", decoded.Milliseconds(), reported.DurationMs)
	}
	return nil
}

// serveFile serves a stored media file to ffmpeg over HTTP on this machine, so
// that ffmpeg can seek without a local copy. The address contains a random path
// and is valid during use only.
func (v *Verifier) serveFile(ctx context.Context, jobID uuid.UUID, name string, use func(address string) error) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	failure := make(chan error, 1) // the first error of the storage
	path := "/" + rand.Text() + "/" + name
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path {
			http.NotFound(w, r)
			return
		}
		content, modified, err := v.Recordings.OpenMedia(r.Context(), jobID, name)
		if err != nil {
			select {
			case failure <- err:
			default:
			}
			http.Error(w, "the file cannot be read", http.StatusBadGateway)
			return
		}
		defer content.Close() // read only
		http.ServeContent(w, r, name, modified, content)
	})}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // ends when the server is closed below
	}()
	err = use("http://" + listener.Addr().String() + path)
	closeErr := server.Close()
	<-served
	select {
	case storageErr := <-failure: // the storage failed, not the file
		return errors.Join(storageErr, closeErr)
	default:
		return errors.Join(err, closeErr)
	}
}
