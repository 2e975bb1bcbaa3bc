package job_test

import (
	"testing"

	"standin/internal/jobs/job"
)

// TestFilterMatchesMetadata compares strings as they are and other values as JSON.
func TestFilterMatchesMetadata(t *testing.T) {
	t.Parallel()
	const metadata = `{"customer":"ada","room":7,"vip":true,"none":null,"":"empty"}`
	for _, test := range []struct {
		filter map[string]string
		want   bool
	}{
		{nil, true},
		{map[string]string{"customer": "ada"}, true},
		{map[string]string{"customer": "ada", "room": "7"}, true},
		{map[string]string{"vip": "true"}, true},
		{map[string]string{"": "empty"}, true},
		{map[string]string{"customer": "bob"}, false},
		{map[string]string{"customer": "ada", "room": "8"}, false},
		{map[string]string{"missing": ""}, false},
		{map[string]string{"Customer": "ada"}, false},
	} {
		if got := (job.Filter{Metadata: test.filter}).MatchesMetadata([]byte(metadata)); got != test.want {
			t.Errorf("%v: got %v, want %v", test.filter, got, test.want)
		}
	}
}
