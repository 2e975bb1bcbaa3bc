package tracing

import (
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/google/uuid"
)

func TestParseTraceparent(t *testing.T) {
	t.Parallel()
	const valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	for header, want := range map[string]bool{
		valid: true, strings.Replace(valid, "-01", "-00", 1): true, "cc" + valid[2:] + "-later": true, "cc" + valid[2:]: true,
		"": false, valid[:54]: false, valid + "-later": false, valid + "0": false, "cc" + valid[2:] + "later": false, "ff" + valid[2:]: false,
		strings.ToUpper(valid): false, strings.Replace(valid, "0af7651916cd43dd8448eb211c80319c", strings.Repeat("0", 32), 1): false,
		strings.Replace(valid, "b7ad6b7169203331", strings.Repeat("0", 16), 1): false, strings.Replace(valid, "0a", "0g", 1): false,
	} {
		if _, ok := parseTraceparent(header); ok != want {
			t.Errorf("%q is accepted: %t", header, ok)
		}
	}
	if c, _ := parseTraceparent(valid); c.traceparent() != valid || !c.sampled {
		t.Errorf("got %+v", c)
	}
}

func FuzzParseTraceparent(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	f.Add("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-later")
	f.Fuzz(func(t *testing.T, header string) {
		c, ok := parseTraceparent(header)
		if !ok {
			return
		}
		if again, ok := parseTraceparent(c.traceparent()); !ok || again != c {
			t.Errorf("%q is %+v, and that %+v", header, c, again)
		}
	})
}

func TestParseHeaders(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]map[string]string{
		"": {}, "api-key=secret": {"api-key": "secret"}, " a = b%20c , d=e=f,": {"a": "b c", "d": "e=f"},
		"a": nil, "=b": nil, "a b=c": nil, "a=%zz": nil, "a=%0d%0ab": nil, "a=%00": nil,
	} {
		got, err := ParseHeaders(list)
		if (err == nil) != (want != nil) || !maps.Equal(got, want) {
			t.Errorf("%q: %v, error %v", list, got, err)
		}
	}
}

func FuzzParseHeaders(f *testing.F) {
	f.Add("api-key=secret,authorization=Bearer%20token")
	f.Fuzz(func(t *testing.T, list string) {
		headers, err := ParseHeaders(list)
		if err != nil {
			return
		}
		for name, value := range headers {
			if !validHeaderName(name) || strings.ContainsAny(value, "\r\n\x00") {
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
	for _, bad := range [][2]string{{"", ""}, {"traceidratio", "2"}, {"traceidratio", "-0.1"}, {"traceidratio", "NaN"}, {"jaeger_remote", ""}} {
		if sampler, err := ParseSampler(bad[0], bad[1]); err == nil {
			t.Errorf("%v is %+v", bad, sampler)
		}
	}
	for _, name := range Samplers() {
		if _, err := ParseSampler(name, ""); err != nil {
			t.Error(err)
		}
	}
	sampler, err := ParseSampler("parentbased_traceidratio", "0.25")
	if err != nil {
		t.Fatal(err)
	}
	const traces = 20_000
	sampled := 0
	for range traces {
		if sampler.samples(jobTrace(uuid.Must(uuid.NewV7()))) {
			sampled++
		}
	}
	// Ten standard deviations: the test does not fail by chance.
	if deviation := math.Abs(float64(sampled) - traces*0.25); deviation > 10*math.Sqrt(traces*0.25*0.75) {
		t.Errorf("%d of %d jobs are sampled", sampled, traces)
	}
	for _, parent := range []bool{true, false} {
		if got := sampler.samplesRequest(spanContext{sampled: parent}); got != parent {
			t.Errorf("a request whose parent is sampled (%t) is sampled: %t", parent, got)
		}
	}
	if (Sampler{}).samples(traceID{}) {
		t.Error("always_off samples")
	}
}
