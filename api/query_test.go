package api_test

import (
	"net/url"
	"reflect"
	"slices"
	"testing"

	"standin/api"
)

func TestCheckQuery(t *testing.T) {
	t.Parallel()
	d := description(t)
	for query, want := range map[string][]string{
		"":                                       nil,
		"limit=1&cursor=x":                       nil,
		"limit=100&status=failed":                nil,
		"status=failed&status=completed,joining": nil,
		"createdAfter=2026-11-20T00:00Z&metadata.a=b": nil,
		"metadata=a=b&metadata[b]=c&metadata=c=d=e":   nil,
		"metadatas=1&metadata[a=1":                    nil,
		"limit=5.0":                                   nil,
		"unknown=1&Limit=no":                          nil,
		"createdFrom=2026-11-20T00:00:00Z&createdTo=2026-11-20T01:00:00%2B01:00": nil,
		"joinFrom=2026-11-20T00:00:00+01:00":                                     nil, // with an unescaped plus sign

		"externalId=%00":            {"[externalId] format"},
		"externalId=%ff":            {"[externalId] format"},
		"metadata.a=%00":            {"[metadata.a] format"},
		"metadata.%1b=a":            {"[metadata.\x1b] format"},
		"metadata[a]=%00":           {"[metadata[a]] format"},
		"metadata=a=%00":            {"[metadata] format"},
		"metadata=a":                {"[metadata] pattern"},
		"metadata=a=b&metadata.a=b": {"[metadata.a] maxItems"},
		"metadata.a=b&metadata.a=c": {"[metadata.a] maxItems"},
		"metadata=a=&metadata=b=&metadata=c=&metadata=d=&metadata=e=&metadata=f=&metadata=g=&metadata=h=&metadata=i=&metadata=j=&metadata=k=": {"[metadata] maxItems"},
		"cursor=%00":                  {"[cursor] format"},
		"limit=0":                     {"[limit] minimum"},
		"limit=101":                   {"[limit] maximum"},
		"limit=-1":                    {"[limit] minimum"},
		"limit=1.5":                   {"[limit] type"},
		"limit=ten":                   {"[limit] type"},
		"limit=0x10":                  {"[limit] type"},
		"limit=1e999":                 {"[limit] type"},
		"limit=5&limit=6":             {"[limit] maxItems"},
		"status=done":                 {"[status] enum"},
		"status=failed&status=done":   {"[status] enum"},
		"joinTo=":                     {"[joinTo] format"},
		"limit=&status=&createdFrom=": {"[createdFrom] format", "[limit] type", "[status] enum"},
		"platform=webex":              {"[platform] enum"},
		"createdFrom=yesterday":       {"[createdFrom] format"},
		"joinTo=2026-11-20":           {"[joinTo] format"},
		"limit=x&status=x&platform=x": {"[limit] type", "[platform] enum", "[status] enum"},
	} {
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		issues := d.CheckQuery("listJobs", values).Issues
		got := flat(issues)
		slices.Sort(got)
		if !reflect.DeepEqual(got, append([]string{}, want...)) {
			t.Errorf("%s\n got %q\nwant %q", query, got, want)
		}
	}
	if got := d.CheckQuery("getJob", url.Values{"limit": {"x"}}); len(got.Issues) > 0 || !slices.Equal(got.Ignored, []string{"limit"}) {
		t.Errorf("an operation without parameters: got %+v", got)
	}
}

// TestOperations checks one operation.
func TestOperations(t *testing.T) {
	t.Parallel()
	for _, operation := range description(t).Operations() {
		want := api.Operation{
			ID: "hostMetrics", Method: "GET", Path: "/api/v1/admin/host", Security: "adminSecret",
			Statuses: []string{"200", "401", "429", "500"},
		}
		if operation.ID == want.ID && !reflect.DeepEqual(operation, want) {
			t.Errorf("got %+v, want %+v", operation, want)
		}
	}
}
