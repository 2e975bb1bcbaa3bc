package doctor

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/server/service"
)

func TestFolderStorage(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(folder, "recordings"), 0o700); err != nil {
		t.Fatal(err)
	}
	untouched(t, folder)
	for _, test := range []struct {
		dataDir, address string
		state            State
		want             string
	}{
		{folder, "", OK, "written, read and deleted"},
		{"", "file://" + folder, OK, "written, read and deleted"},
		{"", "file://" + folder + "/later/on", OK, "does not exist yet"},
		{"", "file://" + file, Fail, "not a folder"},
		{"", "file://" + file + "/below", Fail, "file"},
		{"", "file://elsewhere" + folder, Fail, "contains more than a folder"},
		{"", "file:relative", Fail, "file:///absolute/folder"},
		{"", "ftp://host/folder", Fail, "s3://bucket"},
		{"", "%", Fail, "not a URL"},
	} {
		check, clocks := checkStorage(limited(t), Settings{
			DataSettings: service.DataSettings{DataDir: test.dataDir}, StorageSettings: service.StorageSettings{StorageURL: test.address},
		})
		expect(t, check, test.state, test.want)
		if len(clocks) != 0 {
			t.Errorf("a folder has a clock: %v", clocks)
		}
	}
}

// TestObjectStorage uses an object store that implements the needed part of S3's
// protocol.
func TestObjectStorage(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
	for name, test := range map[string]struct {
		store *objectStore
		state State
		want  string
		clock State
	}{
		"working":     {&objectStore{}, OK, "written, read and deleted", OK},
		"no writing":  {&objectStore{refused: http.MethodPut}, Fail, "write an object", OK},
		"no reading":  {&objectStore{refused: http.MethodGet}, Fail, "read the object", OK},
		"no deleting": {&objectStore{refused: http.MethodDelete}, Fail, "delete jobs/standin-doctor-", OK},
		"wrong clock": {&objectStore{ahead: 10 * time.Minute}, OK, "written, read and deleted", Fail},
		"corrupts":    {&objectStore{garbles: true}, Fail, "differs from what was written", OK},
	} {
		t.Run(name, func(t *testing.T) {
			store := test.store
			server := httptest.NewServer(store)
			t.Cleanup(server.Close)
			check, clocks := checkStorage(limited(t), Settings{StorageSettings: service.StorageSettings{
				StorageURL: "s3://recordings?region=eu-central-1&use_path_style=true&endpoint=" + server.URL,
			}})
			expect(t, check, test.state, "s3://recordings", test.want)
			expect(t, checkClock(limited(t), clocks), test.clock)
			if test.state == OK && (len(store.objects) != 0 || store.written != 1) {
				t.Errorf("%d objects were written, %d are left", store.written, len(store.objects))
			}
			if strings.Contains(check.Found, "hunter2") {
				t.Errorf("a secret is shown: %s", check.Found)
			}
		})
	}
}

// objectStore is a bucket that implements PUT, GET, HEAD and DELETE of S3's
// protocol.
type objectStore struct {
	refused string // method
	ahead   time.Duration
	garbles bool

	mu      sync.Mutex
	objects map[string][]byte
	written int
}

func (s *objectStore) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	content, found := s.objects[r.URL.Path]
	switch {
	case !strings.HasPrefix(r.URL.Path, "/recordings/jobs/standin-doctor-") ||
		!strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 "):
		w.WriteHeader(http.StatusBadRequest)
	case r.Method == s.refused:
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>")
	case r.Method == http.MethodPut:
		if s.objects == nil {
			s.objects = make(map[string][]byte)
		}
		s.objects[r.URL.Path], s.written = bodyOf(r), s.written+1
	case r.Method == http.MethodDelete:
		delete(s.objects, r.URL.Path)
		w.WriteHeader(http.StatusNoContent)
	case !found:
		w.WriteHeader(http.StatusNotFound)
	default:
		if s.garbles {
			content = []byte("garbled")
		}
		w.Header().Set("Last-Modified", time.Now().Add(s.ahead).UTC().Format(http.TimeFormat))
		w.Header().Set("Content-Length", strconv.Itoa(len(content)))
		w.Write(content)
	}
}

// bodyOf reads a body that may be sent in signed chunks, each after a line with
// its length in hex.
func bodyOf(r *http.Request) []byte {
	if !strings.Contains(r.Header.Get("Content-Encoding"), "aws-chunked") {
		body, _ := io.ReadAll(r.Body)
		return body
	}
	reader := bufio.NewReader(r.Body)
	var body []byte
	for {
		text, _ := reader.ReadString('\n')
		digits, _, _ := strings.Cut(strings.TrimSpace(text), ";")
		size, err := strconv.ParseInt(digits, 16, 32)
		if err != nil || size == 0 {
			return body
		}
		chunk := make([]byte, size+2) // with the line's end
		if _, err := io.ReadFull(reader, chunk); err != nil {
			return body
		}
		body = append(body, chunk[:size]...)
	}
}
