// Command server is an S3-compatible server for tests. It consists of the S3 API
// and the folder storage of VersityGW. It is a separate module, so that Standin
// does not depend on libraries that only its tests need. Package s3test builds
// and starts it.
//
//	server FOLDER SOCKET
//
// The server serves the buckets in FOLDER/buckets on the Unix socket SOCKET. It
// prints the line "ready" when it accepts connections, and exits when its standard
// input is closed, which includes any exit of the test that started it.
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/s3api"
	"github.com/versity/versitygw/s3api/middlewares"
)

// Limits of the server, far above the load of tests.
const (
	maxConnections = 1000
	maxRequests    = 500
	maxParts       = 10000 // of a multipart upload (Amazon S3 user guide, multipart upload limits)
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "server FOLDER SOCKET")
		os.Exit(2)
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent process closes the pipe or exits
		os.Exit(0)
	}()
	if err := serve(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

// serve serves until the process ends.
func serve(folder, socket string) error {
	buckets, metadata := filepath.Join(folder, "buckets"), filepath.Join(folder, "metadata")
	for _, path := range []string{buckets, metadata} {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return err
		}
	}
	// Object metadata is stored in sidecar files, because not every file system
	// supports extended attributes.
	sidecar, err := meta.NewSideCar(metadata)
	if err != nil {
		return err
	}
	storage, err := posix.New(buckets, sidecar, posix.PosixOpts{
		SideCarDir: metadata, NewDirPerm: 0o700, NewFilePerm: 0o600, Concurrency: 64, CopyObjectThreshold: 5 << 30,
	})
	if err != nil {
		return fmt.Errorf("open %s: %w", buckets, err)
	}
	defer storage.Shutdown()
	access, secret := os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY")
	owner := auth.Account{Access: access, Secret: secret, Role: auth.RoleAdmin}
	server, err := s3api.New(storage, middlewares.RootUserConfig{Access: access, Secret: secret},
		os.Getenv("AWS_REGION"), auth.NewIAMServiceSingle(owner), nil, nil, nil, nil,
		s3api.WithQuiet(), s3api.WithKeepAlive(), s3api.WithMpMaxParts(maxParts),
		s3api.WithConcurrencyLimiter(maxConnections, maxRequests),
		s3api.WithOnListen(func() { fmt.Println("ready") }))
	if err != nil {
		return err
	}
	return server.ServeMultiPort([]string{socket})
}
