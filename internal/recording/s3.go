package recording

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"
)

// stallTimeout is the maximum time without data on a connection to an object
// store. It is longer than a server-side copy of the largest object
// (largestServerCopy). Without it, an unresponsive store would block a job
// forever.
const stallTimeout = 3 * time.Minute

// openObjects opens a bucket of an object store.
func openObjects(ctx context.Context, address *url.URL) (*blob.Bucket, error) {
	if address.Scheme != s3blob.Scheme {
		return blob.OpenBucket(ctx, address.String())
	}
	return openS3(ctx, address, stallTimeout)
}

// openS3 opens an S3 bucket whose connections fail after stall without data. The
// S3 library makes up to three attempts for each request, with increasing delays.
func openS3(ctx context.Context, address *url.URL, stall time.Duration) (*blob.Bucket, error) {
	opener := new(s3blob.URLOpener)
	bucket, err := opener.OpenBucketURL(ctx, address)
	if err != nil {
		return nil, err
	}
	defer bucket.Close() // used only to get the client of the bucket returned below
	var client *s3.Client
	if !bucket.As(&client) {
		return nil, errors.New("the S3 bucket has no S3 client")
	}
	httpClient := awshttp.NewBuildableClient().WithTransportOptions(func(transport *http.Transport) {
		transport.DialContext = dialWithStallTimeout(transport.DialContext, stall)
	})
	client = s3.New(client.Options(), func(options *s3.Options) {
		options.HTTPClient = httpClient
		// A multipart object has no checksum of the whole object. Without this
		// option, each download of one writes a warning to standard error.
		options.DisableLogOutputChecksumValidationSkipped = true
	})
	return s3blob.OpenBucket(ctx, client, address.Host, &opener.Options)
}

type dialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// dialWithStallTimeout returns connections that fail when no data moves.
func dialWithStallTimeout(dial dialFunc, stall time.Duration) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &stallConn{Conn: connection, stall: stall}, nil
	}
}

// stallConn is a connection on which a read or write fails after a stall
// without progress.
type stallConn struct {
	net.Conn
	stall time.Duration
}

func (c *stallConn) Read(buffer []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.stall)); err != nil {
		return 0, fmt.Errorf("watch a connection: %w", err)
	}
	return c.Conn.Read(buffer)
}

// Write also extends the read deadline, because the HTTP transport reads the
// response while it writes the request.
func (c *stallConn) Write(data []byte) (int, error) {
	if err := c.SetDeadline(time.Now().Add(c.stall)); err != nil {
		return 0, fmt.Errorf("watch a connection: %w", err)
	}
	return c.Conn.Write(data)
}
