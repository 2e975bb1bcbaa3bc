// Command server is the S3-compatible server that tests keep recordings in:
// the S3 interface and the folder storage of VersityGW, without its other
// storages and surfaces. It is a module of its own, so that Standin does not
// depend on what only its tests need; package s3test builds and starts it.
//
//	server FOLDER SOCKET
//
// serves the buckets below FOLDER/buckets on the Unix socket SOCKET, prints a
// line when it can be asked, and ends with its standard input: with the test
// that started it, however that ends.
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

// Limits of what the server takes on at once: far above what tests ask.
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
		_, _ = io.Copy(io.Discard, os.Stdin) // until whoever started it is gone
		os.Exit(0)
	}()
	if err := serve(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

// serve serves until the process ends.
func serve(folder, socket string) error {
	buckets, described := filepath.Join(folder, "buckets"), filepath.Join(folder, "described")
	for _, made := range []string{buckets, described} {
		if err := os.MkdirAll(made, 0o700); err != nil {
			return err
		}
	}
	// What is known of an object stands in files beside it: not every file
	// system has extended attributes.
	describing, err := meta.NewSideCar(described)
	if err != nil {
		return err
	}
	storage, err := posix.New(buckets, describing, posix.PosixOpts{
		SideCarDir: described, NewDirPerm: 0o700, NewFilePerm: 0o600, Concurrency: 64, CopyObjectThreshold: 5 << 30,
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
