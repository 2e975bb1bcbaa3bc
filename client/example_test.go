package client_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"standin/client"
)

// Send a bot, print what is said, and save the recording.
func Example() {
	ctx := context.Background()
	standin, err := client.FromEnvironment() // STANDIN_URL and STANDIN_API_KEY
	if err != nil {
		log.Fatal(err)
	}
	captions := true
	job, _, err := standin.CreateJob(ctx, client.NewJob{
		ExternalID: "standup-2026-11-20", // your own ID of the meeting: a second request with it sends no second bot
		MeetingURL: "https://meet.google.com/abc-defg-hij",
		Options:    client.Options{Captions: &client.TextOptions{Enabled: &captions}},
	})
	if err != nil {
		log.Fatal(err)
	}
	for event, err := range standin.Live(ctx, job.ID, "") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(event.Name, string(event.Data))
	}
	done, err := standin.WaitUntilDone(ctx, job.ID, 5*time.Second)
	if err != nil || done.Status != client.Completed {
		log.Fatal(done.Status, err)
	}
	manifest, err := standin.Manifest(ctx, job.ID)
	if err != nil {
		log.Fatal(err)
	}
	for _, media := range manifest.Media {
		file, err := os.Create(media.Name)
		if err == nil {
			err = standin.DownloadFile(ctx, job.ID, media, file)
		}
		if err == nil {
			err = file.Close()
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}

// Receive the webhooks of jobs.
func ExampleReceiveWebhook() {
	secret := os.Getenv("STANDIN_WEBHOOK_SECRET")
	http.HandleFunc("POST /hooks", func(w http.ResponseWriter, r *http.Request) {
		hook, err := client.ReceiveWebhook(r, secret)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		fmt.Println(hook.DeliveryID, hook.Event, hook.Data.JobID) // store it; an ID that you know is a duplicate
		w.WriteHeader(http.StatusNoContent)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:9090", nil)) //nolint:gosec // an example
}
