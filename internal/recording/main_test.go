package recording

import (
	"flag"
	"os"
	"slices"
	"sync"
	"testing"

	"standin/internal/testing/s3test"
)

// objects is the S3 server of the package's tests, or nil if it cannot be built.
var objects *s3test.Server

// encodedMedia caches the media of the package's tests. It maps a comparable
// description to a function that returns the encoded media.
var encodedMedia sync.Map

// encodeOnce returns a copy of the media for a key. It calls encode for the first
// use of the key only.
func encodeOnce(t *testing.T, key any, encode func() ([]byte, error)) []byte {
	t.Helper()
	cached, _ := encodedMedia.LoadOrStore(key, sync.OnceValues(encode))
	data, err := cached.(func() ([]byte, error))()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(data)
}

func TestMain(m *testing.M) {
	flag.Parse()
	// Most of these tests wait for failing stores and slow connections.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(s3test.Main(m, func(s *s3test.Server) { objects = s }))
}
