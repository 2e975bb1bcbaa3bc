package service_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"standin/internal/account"
	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/recording/build"
	"standin/internal/recording/speech"
	"standin/internal/recording/wav"
	"standin/internal/testing/await"
)

// contractWAV returns a second of silence, 16 kHz.
func contractWAV() []byte { return wav.Encode(make([]byte, 2*16_000), 16_000) }

// contractPNG returns a square image.
func contractPNG(t *testing.T) []byte {
	t.Helper()
	var file bytes.Buffer
	if err := png.Encode(&file, image.NewRGBA(image.Rect(0, 0, 300, 300))); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// contractGIF returns a video of 2 seconds.
func contractGIF(t *testing.T) []byte {
	t.Helper()
	frame := func(shown color.Color) *image.Paletted {
		return image.NewPaletted(image.Rect(0, 0, 64, 36), color.Palette{shown})
	}
	var file bytes.Buffer
	err := gif.EncodeAll(&file, &gif.GIF{
		Image: []*image.Paletted{frame(color.White), frame(color.Black)}, Delay: []int{100, 100}, // hundredths of a second
	})
	if err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// contractOutput tests playAudio, speak, stopOutput, setCamera, shareScreen and readOutput of api/openapi.yaml with
// a speech server and a server of files on loopback.
func contractOutput(t *testing.T, coverage *contractCoverage) {
	if _, err := build.FindTools(); err != nil {
		t.Skip(err)
	}
	var broken atomic.Bool
	var asked atomic.Value
	arrive := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" {
			<-arrive
		}
		switch {
		case broken.Load():
			http.Error(w, "no such model", http.StatusBadRequest)
		case r.URL.Path == "/v1/audio/speech":
			body, _ := io.ReadAll(r.Body)
			asked.Store(r.Header.Get("Authorization") + " " + string(body))
			_, _ = w.Write(contractWAV())
		case r.URL.Path == "/logo.png":
			_, _ = w.Write(contractPNG(t))
		case r.URL.Path == "/beep.wav", r.URL.Path == "/greeting.mp3":
			_, _ = w.Write(contractWAV())
		case r.URL.Path == "/page.html":
			_, _ = io.WriteString(w, "<!doctype html>")
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	settings := contractSettings(t)
	settings.Speech = speech.Config{URL: server.URL, APIKey: "the key"}
	h := openContractHarness(t, coverage, settings)
	hooks := newContractHooks(t, h.checker)
	urls := contractFuture + `,"webhooks":{"onStatusChange":"` + hooks.URL + `"}`
	id := h.create(t, h.ada, contractJob(urls+`,"output":{}`))
	h.sendEvent(t, id, "lifecycle.in_meeting", "")
	without := h.create(t, h.ada, contractJob(contractFuture))
	files := `"uri":"` + server.URL
	greeting := h.create(t, h.ada, contractJob(contractFuture+`,"output":{"onJoin":{"text":"Hello"},"replayOnJoin":true,"camera":{"image":{`+
		files+`/logo.png"}}}`))
	playing := h.create(t, h.ada, contractJob(contractFuture+`,"output":{"onJoin":{`+files+`/beep.wav"},"camera":{"nameCard":true}}`))
	for output, field := range map[string]string{
		`{"onJoin":{}}`: `"onJoin"`, `{"onJoin":{"uri":"https://example.com/a","text":"a"}}`: `"onJoin"`,
		`{"onJoin":{"uri":"ftp://example.com/a"}}`: `"onJoin","uri"`,
		`{"camera":{}}`: `"camera"`, `{"camera":{"nameCard":true,"page":{"uri":"https://example.com/"}}}`: `"camera"`,
		`{"camera":{"page":{"uri":"https://a:b@example.com/"}}}`: `"camera","page","uri"`,
		`{"camera":{"image":{"uri":"data:,a"}}}`:                 `"camera","image","uri"`,
	} {
		h.refuse(t, `"output",`+field, h.ada, "createJob", contractJob(contractFuture+`,"output":`+output))
	}
	data := base64.StdEncoding.EncodeToString(contractWAV())

	picture := base64.StdEncoding.EncodeToString(contractPNG(t))
	bodies := map[string]string{
		"playAudio": `{"data":"` + data + `"}`, "speak": `{"text":"Good morning","language":"en"}`, "stopOutput": "",
		"setCamera": `{"image":{"data":"` + picture + `"}}`, "shareScreen": `{"page":{"uri":"https://example.com/"}}`,
	}
	commands := map[string]string{}
	for op, body := range bodies {
		commands[op] = h.call(t, 202, h.ada, op, body, id).text(t, "commandId")
		refused := h.call(t, 409, h.ada, op, body, without)
		if !strings.Contains(refused.text(t, "message"), "output") {
			t.Errorf("%s without the option: %s", op, refused.body)
		}
	}
	own := func(status int, id, name string) []byte {
		t.Helper()
		return h.call(t, status, contractToken(id, 0), "readOutput", "", id, "0", name).body
	}
	if image, err := jpeg.DecodeConfig(bytes.NewReader(own(200, greeting, "camera"))); err != nil || image.Width != 1280 {
		t.Errorf("the camera's image: %+v, %v", image, err)
	}
	if pcm := own(200, playing, "on-join"); len(pcm) != 2*48_000 {
		t.Errorf("the sound has %d bytes", len(pcm))
	}
	own(404, playing, "camera")
	own(404, id, "on-join")
	own(404, without, "on-join")
	if got := asked.Load(); got != `Bearer the key {"model":"tts-1","input":"Good morning","voice":"alloy","language":"en","response_format":"wav"}` {
		t.Errorf("the speech server was asked %q", got)
	}
	h.call(t, 202, h.ada, "playAudio", `{"uri":"`+server.URL+`/beep.wav","interrupt":true}`, id)
	for body, field := range map[string]string{
		`{}`: ``, `{"uri":"https://example.com/a","data":"` + data + `"}`: ``, `{"data":"#"}`: `"data"`, `{"data":"aGVsbG8="}`: `"data"`,
		`{"uri":"` + server.URL + `/missing"}`: `"uri"`, `{"uri":"` + server.URL +
			`/page.html"}`: `"uri"`, `{"uri":"http://10.1.2.3/a.mp3"}`: `"uri"`,
		`{"uri":"file:///etc/passwd"}`: `"uri"`,
	} {
		h.refuse(t, field, h.ada, "playAudio", body, id)
	}
	for body, field := range map[string]string{
		`{}`: ``, `{"none":true,"page":{"uri":"https://example.com/"}}`: ``, `{"image":{}}`: `"image"`, `{"image":{"data":"` + data +
			`"}}`: `"image","data"`,
		`{"image":{"uri":"` + server.URL + `/beep.wav"}}`: `"image","uri"`, `{"page":{"uri":"file:///etc/passwd"}}`: `"page","uri"`,
		`{"none":false}`: ``,
	} {
		for _, op := range []string{"setCamera", "shareScreen"} {
			h.refuse(t, field, h.ada, op, body, id)
		}
	}
	h.call(t, 400, h.ada, "setCamera", `{"video":{"data":"`+data+`"}}`, id)
	h.call(t, 202, h.ada, "setCamera", `{"none":true}`, id)
	moving := h.call(t, 202, h.ada, "setCamera", `{"video":{"data":"`+base64.StdEncoding.EncodeToString(contractGIF(t))+`"}}`, id).text(t,
		"commandId")
	h.call(t, 400, h.ada, "speak", `{"text":" "}`, id)
	responses := make(chan contractResponse, 13)
	for range cap(responses) {
		go func() {
			responses <- h.do(t, contractRequest{op: "playAudio", body: `{"uri":"` + server.URL + `/late"}`, in: []string{id}, bearer: h.ada})
		}()
	}
	if full := <-responses; full.status != 429 || full.header.Get("Retry-After") != "5" {
		t.Errorf("while 12 files are fetched or wait: %d %s", full.status, full.body)
	}
	own(429, playing, "on-join")
	close(arrive)
	for range cap(responses) - 1 {
		<-responses
	}
	h.sendDocumented(t, server.URL)

	team, err := h.Store().ConsumerByName(t.Context(), "ada")
	if err == nil {
		err = h.Store().ChangeConsumer(t.Context(), team.ID, func(c *account.Consumer) {
			c.Output = &job.OutputOptions{OnJoin: &job.OutputOnJoin{Text: "Hello"}}
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	h.call(t, 202, h.ada, "speak", bodies["speak"], without)
	own(200, without, "on-join")
	own(404, id, "on-join") // the job has its own options
	broken.Store(true)
	h.call(t, 503, h.ada, "speak", bodies["speak"], id)
	own(503, greeting, "on-join")

	sound := func(status int, in []string, bearer string) contractResponse {
		t.Helper()
		return h.call(t, status, bearer, "readOutput", "", in...)
	}
	spoken := []string{id, "0", commands["speak"]}
	if pcm := sound(200, spoken, contractToken(id, 0)).body; len(pcm) != 2*48_000 {
		t.Errorf("the sound has %d bytes", len(pcm))
	}
	shown, err := jpeg.DecodeConfig(bytes.NewReader(sound(200, []string{id, "0", commands["setCamera"]}, contractToken(id, 0)).body))
	if err != nil || shown.Width != 1280 || shown.Height != 720 {
		t.Errorf("the picture is %dx%d, %v", shown.Width, shown.Height, err)
	}
	if pictures := ingest.SplitPictures(sound(200, []string{id, "0", moving},
		contractToken(id, 0)).body); len(pictures) != 2*ingest.VideoRate {
		t.Errorf("the video of 2 seconds has %d pictures", len(pictures))
	}
	sound(400, []string{id, "0", "x"}, contractToken(id, 0))
	sound(401, spoken, "")
	sound(401, spoken, contractToken(without, 0))
	sound(404, []string{id, "0", id}, contractToken(id, 0))

	about, _ := json.Marshal(map[string]string{
		"commandId": commands["speak"], "command": "speak", "reason": "stopped_by_host", "detail": "The host muted it.",
	})
	h.sendEvent(t, id, "lifecycle.output_started", string(about))
	h.sendEvent(t, id, "lifecycle.output_failed", string(about))
	await.Until(t, "the webhooks of output", func() bool { return hooks.count("bot.output") == 2 })
	h.call(t, 200, contractToken(id, 0), "heartbeat", `{"jobId":"`+id+`","attempt":0,"acked":["`+commands["speak"]+`"]}`)
	await.Until(t, "the sound is deleted", func() bool {
		return h.do(t, contractRequest{op: "readOutput", in: spoken, bearer: contractToken(id, 0)}).status == 404
	})
}
