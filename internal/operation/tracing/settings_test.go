package tracing

import (
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/google/uuid"
	"golang.org/x/net/http/httpguts"
)

func TestParseHeaders(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]map[string]string{
		"": {}, "api-key=secret": {"api-key": "secret"}, " a = b%20c , d=e=f,": {"a": "b c", "d": "e=f"},
		"a": nil, "=b": nil, "a b=c": nil, "a=%zz": nil, "a=%0d%0ab": nil, "a=%00": nil,
	} {
		got, err := parseHeaders(list)
		if (err == nil) != (want != nil) || !maps.Equal(got, want) {
			t.Errorf("%q: %v, error %v", list, got, err)
		}
	}
}

func FuzzParseHeaders(f *testing.F) {
	f.Add("api-key=secret,authorization=Bearer%20token")
	f.Fuzz(func(t *testing.T, list string) {
		headers, err := parseHeaders(list)
		if err != nil {
			return
		}
		for name, value := range headers {
			if !httpguts.ValidHeaderFieldName(name) || strings.ContainsAny(value, "\r\n\x00") {
				t.Errorf("%q has the header %q: %q", list, name, value)
			}
		}
	})
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]string{
		"http://localhost:4318": "http://localhost:4318/v1/traces", "https://example.com/otlp/": "https://example.com/otlp/v1/traces",
		"localhost:4318": "", "ftp://example.com": "", "http://": "", "http://user:password@example.com": "", "http://%zz": "",
	} {
		got, err := collectorURL(endpoint)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %s, error %v", endpoint, got, err)
		}
		if err != nil && strings.Contains(err.Error(), "password") {
			t.Errorf("the error quotes the credentials: %v", err)
		}
	}
	if tracer, err := New(Settings{}); tracer != nil || err != nil {
		t.Errorf("without an endpoint: %v, %v", tracer, err)
	}
}

func TestSampler(t *testing.T) {
	t.Parallel()
	for _, bad := range [][2]string{
		{"", ""}, {"traceidratio", "2"}, {"traceidratio", "-0.1"}, {"traceidratio", "NaN"}, {"jaeger_remote", ""},
	} {
		if sampler, err := parseSampler(bad[0], bad[1]); err == nil {
			t.Errorf("%v is %+v", bad, sampler)
		}
	}
	for _, name := range []string{"always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off"} {
		if _, err := parseSampler(name, ""); err != nil {
			t.Error(err)
		}
	}
	sampler, err := parseSampler("parentbased_traceidratio", "0.25")
	if err != nil {
		t.Fatal(err)
	}
	const traces = 20_000
	sampled := 0
	for range traces {
		if sampler.samplesJob(uuid.Must(uuid.NewV7())) {
			sampled++
		}
	}
	// Ten standard deviations: the test does not fail by chance.
	if deviation := math.Abs(float64(sampled) - traces*0.25); deviation > 10*math.Sqrt(traces*0.25*0.75) {
		t.Errorf("%d of %d jobs are sampled", sampled, traces)
	}
	if (Sampler{}).samplesJob(uuid.Nil) {
		t.Error("always_off samples")
	}
}
