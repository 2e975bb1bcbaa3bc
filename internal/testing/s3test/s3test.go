// Package s3test provides an S3-compatible object store in the test's process, and
// injects faults into its responses.
package s3test

import (
	"fmt"
	"net/url"
	"os"
	"testing"
)

const (
	bucket = "recordings"
	region = "us-east-1"
)

// Environment returns the environment variables of clients of the store. It accepts any
// credentials.
func Environment() map[string]string {
	return map[string]string{
		"AWS_ACCESS_KEY_ID": "TESTACCESSKEY", "AWS_SECRET_ACCESS_KEY": "a-secret-key-of-tests", "AWS_REGION": region,
		"AWS_EC2_METADATA_DISABLED": "true",
	}
}

// Main runs the tests of a package with the variables of Environment, and returns the
// exit code.
func Main(m *testing.M) int {
	for name, value := range Environment() {
		if err := os.Setenv(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}

// address returns the URL of the bucket on a host, for gocloud.dev.
func address(host string) string {
	query := url.Values{
		"region": {region}, "endpoint": {"http://" + host}, "hostname_immutable": {"true"}, "use_path_style": {"true"},
	}
	return (&url.URL{Scheme: "s3", Host: bucket, RawQuery: query.Encode()}).String()
}
