// Package s3 opens buckets of S3-compatible object stores for the storage of recordings.
// Only programs that need them link the S3 library.
package s3

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"

	"standin/internal/bot/ingest"
)

// stallTimeout is the maximum time to wait for a response of an object store, and then
// for each minProgress bytes of it. It is longer than a server-side copy of the largest
// object that S3 copies. Without it, a store that does not respond, or a byte at a
// time, would block a job forever.
const (
	stallTimeout = 3 * time.Minute
	minProgress  = 64 << 10
)

// Open opens the bucket at an s3://bucket?… address as documented by gocloud.dev. The S3
// library makes up to three attempts for each request, with increasing delays.
func Open(ctx context.Context, address *url.URL) (*blob.Bucket, ingest.Signer, error) {
	return open(ctx, address, stallTimeout)
}

// open opens a bucket whose connections fail after stall without progress.
func open(ctx context.Context, address *url.URL, stall time.Duration) (*blob.Bucket, ingest.Signer, error) {
	opener := new(s3blob.URLOpener)
	bucket, err := opener.OpenBucketURL(ctx, address)
	if err != nil {
		return nil, nil, err
	}
	defer bucket.Close() // used only to get the client of the bucket returned below
	var client *s3.Client
	if !bucket.As(&client) {
		return nil, nil, errors.New("the S3 bucket has no S3 client")
	}
	if client.Options().Region == "" {
		return nil, nil, fmt.Errorf("the bucket has no region: add it to STANDIN_STORAGE_URL, as in s3://%s?region=us-east-1, or set AWS_REGION",
			address.Host)
	}
	httpClient := awshttp.NewBuildableClient().WithTransportOptions(func(transport *http.Transport) {
		dial := transport.DialContext
		transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			connection, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &stallConn{Conn: connection, stall: stall}, nil
		}
	})
	client = s3.New(client.Options(), func(options *s3.Options) {
		options.HTTPClient = httpClient
		// A multipart object has no checksum of the whole object. Without this
		// option, each download of one writes a warning to standard error.
		options.DisableLogOutputChecksumValidationSkipped = true
	})
	presigner := s3.NewPresignClient(client, s3.WithPresignExpires(ingest.SignExpiry))
	sign := func(ctx context.Context, key, contentType string, size int64, sha256 string, metadata map[string]string) (
		ingest.SignedUpload, error,
	) {
		sum, err := hex.DecodeString(sha256)
		if err != nil {
			return ingest.SignedUpload{}, fmt.Errorf("sign an upload: %w", err)
		}
		input := &s3.PutObjectInput{
			Bucket: &address.Host, Key: &key, ContentType: &contentType, ContentLength: &size, Metadata: metadata, IfNoneMatch: aws.String("*"),
			ChecksumSHA256: aws.String(base64.StdEncoding.EncodeToString(sum)), ServerSideEncryption: opener.Options.EncryptionType,
		}
		if opener.Options.KMSEncryptionID != "" {
			input.SSEKMSKeyId = &opener.Options.KMSEncryptionID
		}
		request, err := presigner.PresignPutObject(ctx, input)
		if err != nil {
			return ingest.SignedUpload{}, err
		}
		request.SignedHeader.Del("Host")
		return ingest.SignedUpload{URL: request.URL, Headers: request.SignedHeader}, nil
	}
	bucket, err = s3blob.OpenBucket(ctx, client, address.Host, &opener.Options)
	return bucket, sign, err
}

// stallConn is a connection on which a write fails after a stall, and a read when it and
// those before it have waited that long for less than minProgress bytes. The time between
// reads does not count: the reader may be slow.
type stallConn struct {
	net.Conn
	stall time.Duration

	mu      sync.Mutex
	waited  time.Duration // in reads, for moved bytes
	moved   int
	written time.Time // the last write
}

func (c *stallConn) Read(buffer []byte) (int, error) {
	began := time.Now()
	c.mu.Lock()
	err := c.SetReadDeadline(began.Add(c.stall - c.waited))
	c.mu.Unlock()
	if err != nil {
		return 0, fmt.Errorf("watch a connection: %w", err)
	}
	n, err := c.Conn.Read(buffer)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.written.After(began) {
		began = c.written // it waited for the end of the request
	}
	c.waited += time.Since(began)
	if c.moved += n; c.moved >= minProgress {
		c.waited, c.moved = 0, 0
	}
	return n, err
}

// Write also extends the deadline of a read, because the HTTP transport reads the
// response while it writes the request.
func (c *stallConn) Write(data []byte) (int, error) {
	if err := c.requested(); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(data)
	return n, errors.Join(err, c.requested())
}

// requested starts the time of a response anew.
func (c *stallConn) requested() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written, c.waited, c.moved = time.Now(), 0, 0
	if err := c.SetDeadline(c.written.Add(c.stall)); err != nil {
		return fmt.Errorf("watch a connection: %w", err)
	}
	return nil
}
