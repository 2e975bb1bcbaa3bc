package calendartest

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

func (s *Server) routeMicrosoft(mux *http.ServeMux) {
	for _, path := range []string{"/graph/v1.0/me", "/graph/v1.0/me/calendars/{calendar}"} {
		mux.HandleFunc("GET "+path+"/calendarView", s.api(s.graphView))
		mux.HandleFunc("GET "+path+"/calendarView/delta", s.api(s.graphDelta))
	}
	mux.HandleFunc("PATCH /graph/v1.0/me/events/{event}", s.api(s.patch))
	mux.HandleFunc("GET /graph/v1.0/me/calendars", s.api(func(w http.ResponseWriter, _ *http.Request) {
		value := []map[string]any{}
		for id := range s.calendars {
			value = append(value, map[string]any{"id": cmp.Or(id, "default"), "name": cmp.Or(id, "Calendar"), "isDefaultCalendar": id == Main})
		}
		respond(w, http.StatusOK, map[string]any{"value": value})
	}))
	mux.HandleFunc("GET /graph/v1.0/me/calendar", s.api(s.graphCalendar))
	mux.HandleFunc("GET /graph/v1.0/me/calendars/{calendar}", s.api(s.graphCalendar))
	mux.HandleFunc("POST /graph/v1.0/subscriptions", s.api(s.graphSubscribe))
	mux.HandleFunc("PATCH /graph/v1.0/subscriptions/{id}", s.api(s.graphRenew))
	mux.HandleFunc("DELETE /graph/v1.0/subscriptions/{id}", s.api(s.graphUnsubscribe))
}

func graphError(w http.ResponseWriter, status int, code string) {
	respond(w, status, map[string]any{"error": map[string]any{"code": code, "message": "refused by the double"}})
}

// graphID returns the calendar of a request, and false after responding if there is none.
func (s *Server) graphID(w http.ResponseWriter, r *http.Request) (string, bool) {
	id := r.PathValue("calendar")
	if _, ok := s.calendars[id]; !ok {
		graphError(w, http.StatusNotFound, "ErrorItemNotFound")
		return "", false
	}
	return id, true
}

func (s *Server) graphCalendar(w http.ResponseWriter, r *http.Request) {
	if id, ok := s.graphID(w, r); ok {
		respond(w, http.StatusOK, map[string]any{"id": id, "owner": map[string]string{"name": "Ann", "address": Owner}})
	}
}

// window returns the time range of a request.
func window(query url.Values) (from, to time.Time, ok bool) {
	from, fromErr := time.Parse(time.RFC3339, query.Get("startDateTime"))
	to, toErr := time.Parse(time.RFC3339, query.Get("endDateTime"))
	return from, to, fromErr == nil && toErr == nil
}

// graphView is calendarView, with pages by $skip.
func (s *Server) graphView(w http.ResponseWriter, r *http.Request) {
	id, ok := s.graphID(w, r)
	if !ok {
		return
	}
	query := r.URL.Query()
	from, to, ok := window(query)
	if !ok {
		graphError(w, http.StatusBadRequest, "ErrorInvalidParameter")
		return
	}
	offset, _ := strconv.Atoi(query.Get("$skip"))
	page, next := s.page(s.within(id, from, to), offset)
	body := map[string]any{"value": []any{}}
	for _, e := range page {
		body["value"] = append(body["value"].([]any), s.graphEvent(e))
	}
	if next > 0 {
		query.Set("$skip", strconv.Itoa(next))
		body["@odata.nextLink"] = s.URL + r.URL.Path + "?" + query.Encode()
	}
	respond(w, http.StatusOK, body)
}

// graphDelta is calendarView/delta. Occurrences have only their times and IDs, and
// deletions of occurrences are not told, but by the series.
func (s *Server) graphDelta(w http.ResponseWriter, r *http.Request) {
	id, ok := s.graphID(w, r)
	if !ok {
		return
	}
	query := r.URL.Query()
	from, to, initial := window(query)
	version, offset, fromMillis, toMillis := 0, 0, from.UnixMilli(), to.UnixMilli()
	if !initial {
		token := query.Get("$deltatoken") + query.Get("$skiptoken")
		if _, err := fmt.Sscanf(token, "v%d-o%d-f%d-t%d", &version, &offset, &fromMillis, &toMillis); err != nil {
			graphError(w, http.StatusBadRequest, "ErrorInvalidParameter")
			return
		}
		if version > 0 && version < s.oldest { // not the pages of a first round
			graphError(w, http.StatusGone, "SyncStateNotFound")
			return
		}
		from, to = time.UnixMilli(fromMillis), time.UnixMilli(toMillis)
	}
	page, next := s.page(s.since(id, version), offset)
	body := map[string]any{"value": []any{}}
	add := func(resource map[string]any) { body["value"] = append(body["value"].([]any), resource) }
	for _, e := range page {
		inside := e.End.After(from) && e.Start.Before(to)
		switch {
		case e.Series != "" && e.deleted:
			add(map[string]any{"id": e.Series, "type": "seriesMaster", "subject": e.Title})
		case version == 0 && (e.deleted || !inside):
		case e.deleted || !inside:
			add(map[string]any{"id": e.ID, "@removed": map[string]string{"reason": "deleted"}})
		case e.Series != "" && e.Start.Equal(e.Original):
			add(map[string]any{"id": e.ID, "type": "occurrence", "seriesMasterId": e.Series, "start": graphTime(e.Start), "end": graphTime(e.End)})
		default:
			add(s.graphEvent(e))
		}
	}
	link := func(name string, version, offset int) string {
		return s.URL + r.URL.Path + "?" + name + "=" + fmt.Sprintf("v%d-o%d-f%d-t%d", version, offset, fromMillis, toMillis)
	}
	if next > 0 {
		body["@odata.nextLink"] = link("$skiptoken", version, next)
	} else {
		body["@odata.deltaLink"] = link("$deltatoken", max(s.version, 1), 0)
	}
	respond(w, http.StatusOK, body)
}

func graphTime(at time.Time) map[string]string {
	return map[string]string{"dateTime": at.UTC().Format("2006-01-02T15:04:05.0000000"), "timeZone": "UTC"}
}

// graphResponses are the responses as Graph names them.
var graphResponses = map[string]string{
	"accepted": "accepted", "declined": "declined", "tentative": "tentativelyAccepted", "needsAction": "notResponded",
}

func (s *Server) graphEvent(e stored) map[string]any {
	uid, kind := e.UID, "singleInstance"
	if e.Series != "" { // the UID is different for each occurrence
		uid, kind = uid+"-"+e.Original.UTC().Format("20060102"), "occurrence"
		if !e.Start.Equal(e.Original) {
			kind = "exception"
		}
	}
	person := func(address string) map[string]any { return map[string]any{"name": "", "address": address} }
	attendees := []map[string]any{{
		"type": "resource", "status": map[string]string{"response": "accepted"}, "emailAddress": person("room@example.test"),
	}}
	response := "none"
	for address, answer := range e.Attendees {
		attendees = append(attendees, map[string]any{
			"type": "required", "status": map[string]string{"response": graphResponses[answer]}, "emailAddress": person(address),
		})
		if address == Owner {
			response = graphResponses[answer]
		}
	}
	if e.Organizer == Owner {
		response = "organizer"
	}
	resource := map[string]any{
		"id": e.ID, "iCalUId": uid, "type": kind, "subject": e.Title, "body": map[string]string{
			"contentType": "html", "content": "<html><body>" + e.Description + "</body></html>",
		},
		"lastModifiedDateTime": s.changed.Format("2006-01-02T15:04:05.0000000Z"), "start": graphTime(e.Start), "end": graphTime(e.End),
		"isAllDay": e.AllDay, "isCancelled": e.Cancelled,
		"originalStartTimeZone": "W. Europe Standard Time", "organizer": map[string]any{
			"emailAddress": person(e.Organizer),
		}, "attendees": attendees,
		"responseStatus": map[string]string{
			"response": response, "time": "0001-01-01T00:00:00Z",
		}, "location": map[string]string{"displayName": e.Location},
		"onlineMeeting": nil, "onlineMeetingUrl": nil, "sensitivity": map[bool]string{false: "normal", true: "private"}[e.Private],
	}
	if e.Conference != "" {
		resource["onlineMeeting"] = map[string]string{"joinUrl": e.Conference}
	}
	return resource
}

func (s *Server) graphSubscribe(w http.ResponseWriter, r *http.Request) {
	var request struct {
		ChangeType, NotificationURL, LifecycleNotificationURL, Resource string
		ExpirationDateTime                                              time.Time
	}
	if json.NewDecoder(r.Body).Decode(&request) != nil || request.ChangeType == "" || request.LifecycleNotificationURL == "" {
		graphError(w, http.StatusBadRequest, "InvalidRequest")
		return
	}
	id := fmt.Sprintf("subscription-%d", len(s.watches)+1)
	s.watches[id] = request.NotificationURL
	respond(w, http.StatusCreated, map[string]any{"id": id, "resource": request.Resource, "expirationDateTime": request.ExpirationDateTime})
}

func (s *Server) graphRenew(w http.ResponseWriter, r *http.Request) {
	var request struct{ ExpirationDateTime time.Time }
	id := r.PathValue("id")
	if _, ok := s.watches[id]; !ok || json.NewDecoder(r.Body).Decode(&request) != nil {
		graphError(w, http.StatusNotFound, "ResourceNotFound")
		return
	}
	respond(w, http.StatusOK, map[string]any{"id": id, "expirationDateTime": request.ExpirationDateTime})
}

func (s *Server) graphUnsubscribe(w http.ResponseWriter, r *http.Request) {
	delete(s.watches, r.PathValue("id"))
	w.WriteHeader(http.StatusNoContent)
}
