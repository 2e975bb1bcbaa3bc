package conformance_test

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"standin/internal/testing/testbrowser"
)

// inBrowser is the test in the page. It returns the name of what failed, or "".
const inBrowser = `(async () => {
	const { Standin, verifyWebhook } = await import('/dist/index.js');
	const size = async (stream) => {
		let bytes = 0;
		for await (const chunk of stream) bytes += chunk.length;
		return bytes;
	};
	const standin = new Standin({ baseUrl: location.origin, apiKey: KEY });
	const job = await standin.createJob({
		externalId: 'browser', meetingUrl: 'https://meet.google.com/abc-defg-hij',
		simulate: { seconds: 12, speed: 20 }, captions: { enabled: true },
	});
	const names = new Set();
	for await (const event of standin.live(job.id)) names.add(event.event);
	if (!['state', 'caption', 'end'].every((name) => names.has(name))) return 'live: ' + [...names];
	if ((await standin.waitUntilDone(job.id)).status !== 'completed') return 'wait';
	for (const file of (await standin.getManifest(job.id)).media) {
		if (await size(standin.download(job.id, file)) !== file.bytes) return 'download ' + file.name;
		const other = { ...file, sha256: '0'.repeat(64) };
		const damaged = await size(standin.download(job.id, other)).catch((error) => error);
		if (damaged.name !== 'ChecksumError') return 'damaged ' + file.name + ': ' + damaged;
	}
	for (const { name, valid, secret, now, headers, body } of (await (await fetch('/webhooks.json')).json()).cases) {
		const accepted = await verifyWebhook(headers, body, secret, { now: new Date(now * 1000) }).then(() => true, () => false);
		if (accepted !== valid) return 'webhook: ' + name;
	}
	return '';
})().catch((error) => error.name + ': ' + error.message)`

// testInBrowser tests the TypeScript client in a page.
func testInBrowser(t *testing.T) {
	w := newWorld(t)
	service, err := url.Parse(w.base)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(service)
	proxy.FlushInterval = -1
	pages := http.NewServeMux()
	pages.Handle("/api/", proxy)
	pages.Handle("/dist/", http.FileServer(http.Dir(filepath.Join(folder, "typescript"))))
	pages.Handle("/webhooks.json", http.FileServer(http.Dir(folder)))
	pages.HandleFunc("/{$}", func(answer http.ResponseWriter, _ *http.Request) {
		answer.Header().Set("Content-Type", "text/html")
		_, _ = answer.Write([]byte("<!doctype html><title>Test</title>"))
	})
	server := httptest.NewServer(pages)
	t.Cleanup(server.Close)

	tab := testbrowser.OpenTab(t)
	tab.Open(server.URL)
	if failed := testbrowser.Eval[string](tab, strings.Replace(inBrowser, "KEY", strconv.Quote(w.key), 1)); failed != "" {
		t.Error(failed)
	}
}
