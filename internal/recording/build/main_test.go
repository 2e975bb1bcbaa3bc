package build

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"standin/internal/recording/storage"
	"standin/internal/recording/storage/s3"
	"standin/internal/testing/s3test"
)

// results caches what tools returned in the package's tests. It maps a comparable
// description of the call to a function that returns the result.
var results sync.Map

// once returns the result for a key, which all tests share and none changes. It calls run for
// the first use of the key only.
func once[K comparable, V any](t *testing.T, key K, run func() (V, error)) V {
	t.Helper()
	cached, _ := results.LoadOrStore(key, sync.OnceValues(run))
	result, err := cached.(func() (V, error))()
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestMain(m *testing.M) { os.Exit(s3test.Main(m)) }

func folderAddress(folder string) string {
	return (&url.URL{Scheme: "file", Path: folder}).String()
}

func openStorage(t *testing.T, address string) *storage.Recordings {
	t.Helper()
	recordings, err := storage.Open(t.Context(), address, s3.Open)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := recordings.Close(); err != nil {
			t.Error(err)
		}
	})
	return recordings
}

func sumText(content string) string {
	sum := sha256.Sum256([]byte(content))
	return hex.EncodeToString(sum[:])
}

// put uploads content. It fails the test on an error.
func put(t *testing.T, recordings *storage.Recordings, jobID uuid.UUID, attempt int, name, content string) {
	t.Helper()
	if _, err := recordings.PutUpload(t.Context(), jobID, attempt, name, strings.NewReader(content), sumText(content), 1<<30); err != nil {
		t.Fatalf("upload %s: %v", name, err)
	}
}

// is reports whether err has the type E.
func is[E error](err error) bool {
	var want E
	return errors.As(err, &want)
}
