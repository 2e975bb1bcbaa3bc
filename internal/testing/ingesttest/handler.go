package ingesttest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"standin/internal/bot/ingest"
	"standin/internal/jobs/job"
	"standin/internal/jobs/signin"
)

// handler calls Intercept first, and then checks the token.
func (s *Service) handler() http.Handler {
	routes := s.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var intercept func(http.ResponseWriter, *http.Request) bool
		s.Set(func() {
			s.Requests = append(s.Requests, r.Method+" "+r.URL.RequestURI())
			intercept = s.Intercept
		})
		if intercept != nil && intercept(w, r) {
			return
		}
		if r.Header.Get("Authorization") != "Bearer "+s.token {
			WriteError(w, http.StatusUnauthorized, "unauthorized")
			return
		}
		routes.ServeHTTP(w, r)
	})
}

// Handler returns the ingest operations without Intercept and authentication.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+ingest.EventPath, s.event)
	mux.HandleFunc("POST "+ingest.TextPath, s.texts)
	mux.HandleFunc("POST "+ingest.HeartbeatPath, s.heartbeat)
	mux.HandleFunc("GET "+ingest.OutputPath+"/{job}/{attempt}/{command}", s.sound)
	mux.HandleFunc("PUT "+ingest.MediaPath+"/{job}/{attempt}/{name}", s.upload)
	mux.HandleFunc("POST "+ingest.SignPath, s.sign)
	mux.HandleFunc("POST "+ingest.AccountPath, s.lend)
	mux.HandleFunc("PUT "+ingest.AccountPath+"/{job}/{attempt}", s.takeBack)
	mux.HandleFunc("PUT "+ingest.ScreenshotPath+"/{job}/{attempt}", s.screenshot)
	return mux
}

func (s *Service) event(w http.ResponseWriter, r *http.Request) {
	var event ingest.Event
	if err := json.NewDecoder(r.Body).Decode(&event); err != nil || event.JobID != s.jobID || event.Attempt != s.attempt {
		WriteError(w, http.StatusBadRequest, "invalid_input")
		return
	}
	response := ingest.EventResponse{OK: true}
	s.Set(func() {
		duplicate := slices.ContainsFunc(s.Events, func(e ingest.Event) bool {
			return e.Kind == event.Kind && e.EmittedAt.Equal(event.EmittedAt)
		})
		switch {
		case duplicate:
			s.Duplicates++
			response.Reason = job.Duplicate
		case s.Stale:
			response.Reason = job.StaleAttempt
		case s.Status.Terminal():
			response.Reason = job.Terminal
		default:
			response.Applied = true
			s.Events, s.ReceivedAt = append(s.Events, event), append(s.ReceivedAt, time.Now())
		}
		response.Status, response.Commands = s.Status, slices.Clone(s.Commands)
	})
	WriteJSON(w, response)
}

// texts replaces texts with a known ID.
func (s *Service) texts(w http.ResponseWriter, r *http.Request) {
	var message ingest.Texts
	if err := json.NewDecoder(r.Body).Decode(&message); err != nil || message.JobID != s.jobID || message.Attempt != s.attempt {
		WriteError(w, http.StatusBadRequest, "invalid_input")
		return
	}
	s.Set(func() {
		for _, text := range message.Texts {
			at := slices.IndexFunc(s.Texts, func(other ingest.Text) bool { return other.ID == text.ID && other.Kind == text.Kind })
			if at < 0 {
				s.Texts = append(s.Texts, text)
			} else {
				s.Texts[at] = text
			}
		}
	})
	WriteJSON(w, ingest.TextsResponse{OK: true, Stored: len(message.Texts)})
}

func (s *Service) heartbeat(w http.ResponseWriter, r *http.Request) {
	var heartbeat ingest.Heartbeat
	if err := json.NewDecoder(r.Body).Decode(&heartbeat); err != nil || heartbeat.JobID != s.jobID || heartbeat.Stats == nil ||
		r.Header.Get(ingest.AttemptHeader) != fmt.Sprint(s.jobID, ":", s.attempt) {
		WriteError(w, http.StatusBadRequest, "invalid_input")
		return
	}
	s.Set(func() {
		s.HeartbeatsInFlight++
		s.Heartbeats++
		s.Stats, s.Executing = *heartbeat.Stats, heartbeat.Executing
		s.Acked = append(s.Acked, heartbeat.Acked...)
		maps.Copy(s.Failed, heartbeat.Failed)
		s.Commands = slices.DeleteFunc(s.Commands, func(c ingest.Command) bool { return slices.Contains(heartbeat.Acked, c.ID) })
	})
	defer s.Set(func() { s.HeartbeatsInFlight-- })
	wait, _ := strconv.Atoi(r.URL.Query().Get("wait"))
	s.waitForCommands(r.Context(), time.Duration(wait)*time.Second, heartbeat.Executing)
	var response ingest.HeartbeatResponse
	s.Set(func() {
		response = ingest.HeartbeatResponse{
			OK: true, Status: s.Status, Commands: s.commandsWithout(heartbeat.Executing), NextSeconds: s.NextSeconds, Screenshots: s.Watched,
		}
	})
	WriteJSON(w, response)
}

// sign signs uploads as Sign does.
func (s *Service) sign(w http.ResponseWriter, r *http.Request) {
	var upload ingest.DirectUpload
	if err := json.NewDecoder(r.Body).Decode(&upload); err != nil || upload.JobID != s.jobID || upload.Attempt != s.attempt {
		WriteError(w, http.StatusBadRequest, "invalid_input")
		return
	}
	var signed ingest.SignedUpload
	s.Set(func() {
		if s.Sign != nil {
			signed = s.Sign(upload)
		}
	})
	WriteJSON(w, signed)
}

// lend lends Account, if a guest was refused or there is no need for that.
func (s *Service) lend(w http.ResponseWriter, r *http.Request) {
	var request ingest.AccountRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil || request.JobID != s.jobID {
		WriteError(w, http.StatusBadRequest, "invalid_input")
		return
	}
	var response ingest.AccountResponse
	s.Set(func() {
		if request.SAML != "" {
			response.Page = s.AnswerSAML(request.SAML)
			return
		}
		s.Refusals = append(s.Refusals, request.Refusal)
		if request.Refusal != "" || s.Account.Reason == "" {
			response = s.Account
		}
	})
	WriteJSON(w, response)
}

func (s *Service) takeBack(w http.ResponseWriter, r *http.Request) {
	var state signin.State
	if err := json.NewDecoder(r.Body).Decode(&state); err != nil {
		WriteError(w, http.StatusBadRequest, "invalid_input")
		return
	}
	s.Set(func() { s.Returned = append(s.Returned, state) })
	WriteJSON(w, map[string]bool{"ok": true})
}

// commandsWithout returns the commands that the bot is not executing.
func (s *Service) commandsWithout(executing []string) []ingest.Command {
	return slices.DeleteFunc(slices.Clone(s.Commands), func(c ingest.Command) bool { return slices.Contains(executing, c.ID) })
}

// waitForCommands waits until the response to a heartbeat should be sent.
func (s *Service) waitForCommands(ctx context.Context, wait time.Duration, executing []string) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		s.Lock()
		ready, changed := !s.HoldHeartbeats || len(s.commandsWithout(executing)) > 0 || s.Status.Terminal(), s.changed
		s.Unlock()
		if ready {
			return
		}
		select {
		case <-changed:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (s *Service) upload(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	body, err := io.ReadAll(r.Body)
	sum := sha256.Sum256(body)
	switch {
	case err != nil || int64(len(body)) != r.ContentLength:
		WriteError(w, http.StatusBadRequest, "invalid_input")
		return
	case r.PathValue("job") != s.jobID || r.PathValue("attempt") != strconv.Itoa(s.attempt) || !ingest.ValidMediaName(name):
		WriteError(w, http.StatusBadRequest, "invalid_input")
		return
	case r.Header.Get(ingest.ChecksumHeader) != hex.EncodeToString(sum[:]):
		WriteError(w, http.StatusBadRequest, "invalid_input")
		return
	}
	conflict := false
	s.Set(func() {
		_, _, segment := ingest.ParseSegmentName(name)
		old, there := s.Media[name]
		conflict = segment && there && old != string(body)
		if !conflict {
			s.Media[name] = string(body)
			s.Uploads[name]++
		}
	})
	if conflict {
		WriteError(w, http.StatusConflict, "invalid_state")
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

func (s *Service) screenshot(w http.ResponseWriter, r *http.Request) {
	image, err := io.ReadAll(r.Body)
	if err != nil || len(image) > ingest.MaxScreenshot {
		WriteError(w, http.StatusBadRequest, "invalid_input")
		return
	}
	s.Set(func() { s.Screenshots = append(s.Screenshots, image) })
	WriteJSON(w, map[string]bool{"ok": true})
}

func (s *Service) sound(w http.ResponseWriter, r *http.Request) {
	s.Lock()
	pcm, found := s.Sounds[r.PathValue("command")]
	s.Unlock()
	if !found {
		WriteError(w, http.StatusNotFound, "not_found")
		return
	}
	_, _ = w.Write(pcm) // the bot may be gone
}

// WriteJSON sends a response like the service.
func WriteJSON(w http.ResponseWriter, response any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(response) // the bot may be gone
}
