package storage

import (
	"flag"
	"os"
	"testing"

	"standin/internal/testing/s3test"
)

// objects is the S3 server of the package's tests, or nil if it cannot be built.
var objects *s3test.Server

func TestMain(m *testing.M) {
	flag.Parse()
	// These tests wait for failing stores and slow connections.
	if err := flag.Set("test.parallel", "64"); err != nil {
		panic(err)
	}
	os.Exit(s3test.Main(m, func(s *s3test.Server) { objects = s }))
}
