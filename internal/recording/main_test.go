package recording

import (
	"os"
	"testing"

	"standin/internal/recording/s3test"
)

// objects is the S3 server that the tests of this package share; nil where it
// cannot be built.
var objects *s3test.Server

func TestMain(m *testing.M) {
	os.Exit(s3test.Main(m, func(s *s3test.Server) { objects = s }))
}
