package recording

import (
	"flag"
	"os"
	"slices"
	"sync"
	"testing"

	"standin/internal/testing/s3test"
)

// objects is the S3 server that the tests of this package share; nil where it
// cannot be built.
var objects *s3test.Server

// madeMedia are what tests of this package record from: encoded once, by what
// they are made of, as functions that return them.
var madeMedia sync.Map

// madeOnce returns a copy of what a test is made of, which encode makes unless
// another test had it made.
func madeOnce(t *testing.T, of any, encode func() ([]byte, error)) []byte {
	t.Helper()
	made, _ := madeMedia.LoadOrStore(of, sync.OnceValues(encode))
	data, err := made.(func() ([]byte, error))()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Clone(data)
}

func TestMain(m *testing.M) {
	flag.Parse()
	// Most of these tests wait: for stores that fail, and for lines that are slow.
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	os.Exit(s3test.Main(m, func(s *s3test.Server) { objects = s }))
}
