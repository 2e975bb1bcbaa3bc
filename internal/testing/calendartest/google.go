package calendartest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

func (s *Server) routeGoogle(mux *http.ServeMux) {
	mux.HandleFunc("GET /calendar/v3/calendars/{calendar}", s.api(s.googleCalendar))
	mux.HandleFunc("GET /calendar/v3/calendars/{calendar}/events", s.api(s.googleEvents))
	mux.HandleFunc("PATCH /calendar/v3/calendars/{calendar}/events/{event}", s.api(s.patch))
	mux.HandleFunc("POST /calendar/v3/calendars/{calendar}/events/watch", s.api(s.googleWatch))
	mux.HandleFunc("POST /calendar/v3/channels/stop", s.api(s.googleStop))
	mux.HandleFunc("GET /calendar/v3/users/me/calendarList", s.api(func(w http.ResponseWriter, _ *http.Request) {
		items := []map[string]any{}
		for id := range s.calendars {
			items = append(items, map[string]any{"id": cmp.Or(id, Owner), "summary": cmp.Or(id, Owner), "primary": id == Main})
		}
		respond(w, http.StatusOK, map[string]any{"kind": "calendar#calendarList", "items": items})
	}))
}

// googleID returns the calendar of a request, and false after responding if there is none.
func (s *Server) googleID(w http.ResponseWriter, r *http.Request) (string, bool) {
	id := r.PathValue("calendar")
	if id == "primary" || id == Owner {
		return Main, true
	}
	if _, ok := s.calendars[id]; !ok {
		googleError(w, http.StatusNotFound, "notFound")
		return "", false
	}
	return id, true
}

func googleError(w http.ResponseWriter, status int, reason string) {
	respond(w, status, map[string]any{"error": map[string]any{
		"code": status, "message": reason, "errors": []map[string]string{{"domain": "calendar", "reason": reason, "message": reason}},
	}})
}

func (s *Server) googleCalendar(w http.ResponseWriter, r *http.Request) {
	if id, ok := s.googleID(w, r); ok {
		respond(w, http.StatusOK, map[string]string{
			"kind": "calendar#calendar", "id": cmp.Or(id, Owner), "summary": cmp.Or(id, Owner), "timeZone": "Europe/Berlin",
		})
	}
}

// googleEvents is events.list.
func (s *Server) googleEvents(w http.ResponseWriter, r *http.Request) {
	calendar, ok := s.googleID(w, r)
	if !ok {
		return
	}
	query := r.URL.Query()
	if query.Get("singleEvents") != "true" {
		googleError(w, http.StatusBadRequest, "the double expands series")
		return
	}
	offset, _ := strconv.Atoi(query.Get("pageToken"))
	var events []stored
	if token := query.Get("syncToken"); token != "" {
		var version int
		_, err := fmt.Sscanf(token, "sync-%d", &version)
		if err != nil || query.Has("timeMin") || query.Has("timeMax") || query.Has("orderBy") {
			googleError(w, http.StatusBadRequest, "syncTokenWithRequestRestrictions")
			return
		}
		if version < s.oldest {
			googleError(w, http.StatusGone, "fullSyncRequired")
			return
		}
		events = s.since(calendar, version)
	} else {
		from, fromErr := time.Parse(time.RFC3339, query.Get("timeMin"))
		to, toErr := time.Parse(time.RFC3339, query.Get("timeMax"))
		if fromErr != nil || toErr != nil {
			googleError(w, http.StatusBadRequest, "badRequest")
			return
		}
		events = s.within(calendar, from, to)
	}
	page, next := s.page(events, offset)
	items := []map[string]any{}
	for _, e := range page {
		items = append(items, s.googleEvent(e))
	}
	body := map[string]any{"kind": "calendar#events", "timeZone": "Europe/Berlin", "items": items}
	if next > 0 {
		body["nextPageToken"] = strconv.Itoa(next)
	} else {
		body["nextSyncToken"] = fmt.Sprintf("sync-%d", s.version)
	}
	respond(w, http.StatusOK, body)
}

// googleEvent returns the resource of an event. Deleted ones have only what the
// documentation guarantees.
func (s *Server) googleEvent(e stored) map[string]any {
	if e.deleted {
		return map[string]any{"kind": "calendar#event", "id": e.ID, "status": "cancelled"}
	}
	resource := map[string]any{
		"kind": "calendar#event", "id": e.ID, "iCalUID": e.UID, "status": "confirmed", "sequence": e.Sequence,
		"updated": s.changed.Format("2006-01-02T15:04:05.000Z"),
		"summary": e.Title, "start": googleTime(e.Event, e.Start), "end": googleTime(e.Event, e.End), "eventType": "default",
	}
	if e.Cancelled {
		resource["status"] = "cancelled"
	}
	if e.Private {
		resource["visibility"] = "private"
	}
	// self: "Whether this entry represents the calendar on which this copy of the event appears."
	self := cmp.Or(e.Alias, Owner)
	if e.Series != "" {
		resource["recurringEventId"], resource["originalStartTime"] = e.Series, googleTime(e.Event, e.Original)
	}
	for name, text := range map[string]string{"description": e.Description, "location": e.Location} {
		if text != "" {
			resource[name] = text
		}
	}
	if e.Conference != "" {
		resource["conferenceData"] = map[string]any{"entryPoints": []map[string]string{
			{"entryPointType": "phone", "uri": "tel:+49-30-1234"}, {"entryPointType": "video", "uri": e.Conference},
		}}
	}
	if e.Organizer != "" {
		resource["organizer"] = map[string]any{"email": e.Organizer, "self": e.Organizer == self}
	}
	var attendees []map[string]any
	for address, response := range e.Attendees {
		attendees = append(attendees, map[string]any{"email": address, "responseStatus": response, "self": address == self})
	}
	if attendees != nil {
		attendees = append(attendees, map[string]any{
			"email": "room@resource.calendar.google.com", "resource": true, "responseStatus": "accepted",
		})
		resource["attendees"] = attendees
	}
	return resource
}

func googleTime(e Event, at time.Time) map[string]string {
	if e.AllDay {
		return map[string]string{"date": at.Format(time.DateOnly)}
	}
	location, err := time.LoadLocation(e.Zone)
	if err != nil {
		location = time.UTC
	}
	return map[string]string{"dateTime": at.In(location).Format(time.RFC3339), "timeZone": e.Zone}
}

func (s *Server) googleWatch(w http.ResponseWriter, r *http.Request) {
	var request struct{ ID, Type, Address, Token string }
	if json.NewDecoder(r.Body).Decode(&request) != nil || request.Type != "web_hook" || request.ID == "" {
		googleError(w, http.StatusBadRequest, "badRequest")
		return
	}
	s.watches[request.ID] = request.Address
	expires := time.Now().Add(7 * 24 * time.Hour).UnixMilli()
	respond(w, http.StatusOK, map[string]string{
		"kind": "api#channel", "id": request.ID, "resourceId": "resource-of-" + request.ID, "expiration": strconv.FormatInt(expires, 10),
	})
}

func (s *Server) googleStop(w http.ResponseWriter, r *http.Request) {
	var request struct{ ID, ResourceID string }
	if json.NewDecoder(r.Body).Decode(&request) != nil || request.ResourceID != "resource-of-"+request.ID {
		googleError(w, http.StatusNotFound, "notFound")
		return
	}
	delete(s.watches, request.ID)
	w.WriteHeader(http.StatusNoContent)
}
