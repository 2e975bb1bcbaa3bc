package storage

import (
	"flag"
	"os"
	"testing"

	"standin/internal/testing/s3test"
)

func TestMain(m *testing.M) {
	flag.Parse()
	// These tests wait for failing stores and slow connections.
	if err := flag.Set("test.parallel", "64"); err != nil {
		panic(err)
	}
	os.Exit(s3test.Main(m))
}
