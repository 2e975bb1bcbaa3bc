package kubernetes_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/testing/launchtest"

	"github.com/google/uuid"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
)

// fakeCluster is a Kubernetes API server for the launcher.
// real_test.go runs the same tests on real ones.
type fakeCluster struct {
	*launchtest.Server

	mu       sync.Mutex
	version  int
	objects  map[string]object // by resource/name
	history  []change
	oldest   int // version from which a watch may start
	watchers map[chan change]struct{}
	refused  map[string]bool // permissions that the user lacks, as in "create pods"
}

type object = map[string]any

// change is a watch event.
type change struct {
	version  int
	resource string
	kind     string // ADDED, MODIFIED, DELETED
	object   object
}

const namespace = "standin"

func newFakeCluster(t *testing.T) *fakeCluster {
	t.Helper()
	c := &fakeCluster{objects: make(map[string]object), watchers: make(map[chan change]struct{}), version: 1}
	routes := http.NewServeMux()
	const base = "/api/v1/namespaces/" + namespace + "/{resource}"
	routes.HandleFunc("POST "+base, c.create)
	routes.HandleFunc("GET "+base, c.list)
	routes.HandleFunc("PATCH "+base+"/{name}", c.patch)
	routes.HandleFunc("PATCH "+base+"/{name}/status", c.patch)
	routes.HandleFunc("DELETE "+base+"/{name}", c.delete)
	routes.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		launchtest.Respond(w, http.StatusOK, object{"major": "1", "minor": "36", "gitVersion": "v1.36.0", "platform": "linux/amd64"})
	})
	routes.HandleFunc("POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", c.review)
	c.Server = launchtest.Serve(t, routes)
	return c
}

func (c *fakeCluster) config() *rest.Config { return &rest.Config{Host: c.URL} }

// count returns the number of objects of a resource.
func (c *fakeCluster) count(resource string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for name := range c.objects {
		if strings.HasPrefix(name, resource+"/") {
			n++
		}
	}
	return n
}

// respondError responds with a Status, the form of all errors of the API.
func respondError(w http.ResponseWriter, code int, reason, format string, args ...any) {
	launchtest.Respond(w, code, status(code, reason, fmt.Sprintf(format, args...)))
}

func status(code int, reason, message string) object {
	return object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message}
}

func meta(o object) object {
	if o["metadata"] == nil {
		o["metadata"] = object{}
	}
	return o["metadata"].(object)
}

// copied returns a deep copy.
func copied(o object) object {
	encoded, _ := json.Marshal(o)
	var other object
	json.Unmarshal(encoded, &other)
	return other
}

// note stores an object and publishes the change; the lock is held.
func (c *fakeCluster) note(kind, resource string, o object) {
	c.version++
	o = copied(o)
	meta(o)["resourceVersion"] = strconv.Itoa(c.version)
	key := resource + "/" + meta(o)["name"].(string)
	c.objects[key] = o
	if kind == "DELETED" {
		delete(c.objects, key)
	}
	happened := change{c.version, resource, kind, o}
	c.history = append(c.history, happened)
	for watcher := range c.watchers {
		watcher <- happened
	}
}

func kindOf(resource string) string {
	if resource == "pods" {
		return "Pod"
	}
	return "Secret"
}

func (c *fakeCluster) create(w http.ResponseWriter, r *http.Request) {
	var o object
	if err := json.NewDecoder(r.Body).Decode(&o); err != nil {
		respondError(w, http.StatusBadRequest, "BadRequest", "%v", err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	resource := r.PathValue("resource")
	name := meta(o)["name"].(string)
	if c.objects[resource+"/"+name] != nil {
		respondError(w, http.StatusConflict, "AlreadyExists", "%s %q already exists", resource, name)
		return
	}
	o["kind"], o["apiVersion"] = kindOf(resource), "v1"
	if resource == "pods" {
		o["status"] = object{"phase": "Pending"}
	}
	meta(o)["uid"], meta(o)["namespace"] = uuid.NewString(), namespace
	meta(o)["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	c.note("ADDED", resource, o)
	launchtest.Respond(w, http.StatusCreated, c.objects[resource+"/"+name])
}

// review responds whether the user has a permission.
func (c *fakeCluster) review(w http.ResponseWriter, r *http.Request) {
	var asked authorizationv1.SelfSubjectAccessReview
	if err := json.NewDecoder(r.Body).Decode(&asked); err != nil || asked.Spec.ResourceAttributes == nil {
		respondError(w, http.StatusBadRequest, "BadRequest", "%v", err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	on := asked.Spec.ResourceAttributes
	known := on.Group == "" && (on.Resource == "pods" || on.Resource == "secrets")
	asked.Status.Allowed = on.Namespace == namespace && known && !c.refused[on.Verb+" "+on.Resource]
	launchtest.Respond(w, http.StatusCreated, asked)
}

// find returns the object of a request, or responds with an error.
func (c *fakeCluster) find(w http.ResponseWriter, r *http.Request) object {
	o := c.objects[r.PathValue("resource")+"/"+r.PathValue("name")]
	if o == nil {
		respondError(w, http.StatusNotFound, "NotFound", "%s %q not found", r.PathValue("resource"), r.PathValue("name"))
	}
	return o
}

// chosen reports whether an object matches the label selector of a request.
func chosen(r *http.Request, resource string, o object) bool {
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	has := labels.Set{}
	of, _ := meta(o)["labels"].(object)
	for name, value := range of {
		has[name] = value.(string)
	}
	return err == nil && resource == r.PathValue("resource") && selector.Matches(has)
}

func (c *fakeCluster) list(w http.ResponseWriter, r *http.Request) {
	if r.URL.Query().Get("watch") != "" {
		c.watch(w, r)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	resource := r.PathValue("resource")
	items := []object{}
	for _, name := range slices.Sorted(maps.Keys(c.objects)) {
		if of, _, _ := strings.Cut(name, "/"); chosen(r, of, c.objects[name]) {
			items = append(items, c.objects[name])
		}
	}
	launchtest.Respond(w, http.StatusOK, object{
		"kind": kindOf(resource) + "List", "apiVersion": "v1", "items": items, "metadata": object{"resourceVersion": strconv.Itoa(c.version)},
	})
}

func (c *fakeCluster) watch(w http.ResponseWriter, r *http.Request) {
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	seconds, _ := strconv.Atoi(r.URL.Query().Get("timeoutSeconds"))
	happens := make(chan change, 1000)
	c.mu.Lock()
	stale := from < c.oldest
	for _, happened := range c.history {
		if happened.version > from {
			happens <- happened
		}
	}
	c.watchers[happens] = struct{}{}
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watchers, happens)
	}()
	w.Header().Set("Content-Type", "application/json")
	report := func(kind string, o object) {
		json.NewEncoder(w).Encode(object{"type": kind, "object": o})
		w.(http.Flusher).Flush()
	}
	w.(http.Flusher).Flush()
	if stale { // reported in the stream, as by the real server
		report("ERROR", status(http.StatusGone, "Expired", fmt.Sprintf("too old resource version: %d (%d)", from, c.oldest)))
		return
	}
	end := time.After(time.Duration(seconds) * time.Second)
	for {
		select {
		case happened := <-happens:
			if chosen(r, happened.resource, happened.object) {
				report(happened.kind, happened.object)
			}
		case <-end:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// merge applies a JSON merge patch (RFC 7396).
func merge(o, patch object) {
	for name, value := range patch {
		inner, isObject := value.(object)
		switch old, _ := o[name].(object); {
		case value == nil:
			delete(o, name)
		case isObject && old != nil:
			merge(old, inner)
		default:
			o[name] = value
		}
	}
}

func (c *fakeCluster) patch(w http.ResponseWriter, r *http.Request) {
	var patch object
	if err := json.NewDecoder(r.Body).Decode(&patch); err != nil || r.Header.Get("Content-Type") != "application/merge-patch+json" {
		respondError(w, http.StatusUnsupportedMediaType, "UnsupportedMediaType", "%v", err)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.find(w, r)
	if o == nil {
		return
	}
	o = copied(o)
	merge(o, patch)
	c.note("MODIFIED", r.PathValue("resource"), o)
	launchtest.Respond(w, http.StatusOK, c.objects[r.PathValue("resource")+"/"+r.PathValue("name")])
}

func (c *fakeCluster) delete(w http.ResponseWriter, r *http.Request) {
	var options struct {
		GracePeriodSeconds *int64
		Preconditions      struct{ UID string }
	}
	json.NewDecoder(r.Body).Decode(&options)
	c.mu.Lock()
	defer c.mu.Unlock()
	o := c.find(w, r)
	if o == nil {
		return
	}
	resource := r.PathValue("resource")
	if want := options.Preconditions.UID; want != "" && want != meta(o)["uid"] {
		respondError(w, http.StatusConflict, "Conflict", "the UID in the precondition (%s) does not match", want)
		return
	}
	phase := ""
	if s, ok := o["status"].(object); ok {
		phase, _ = s["phase"].(string)
	}
	if resource == "pods" && phase == "Running" && *options.GracePeriodSeconds > 0 {
		if meta(o)["deletionTimestamp"] == nil { // the node ends it later
			o = copied(o)
			meta(o)["deletionTimestamp"] = time.Now().Add(time.Duration(*options.GracePeriodSeconds) * time.Second).UTC().Format(time.RFC3339)
			c.note("MODIFIED", resource, o)
		}
		launchtest.Respond(w, http.StatusOK, o)
		return
	}
	c.note("DELETED", resource, o)
	if resource == "pods" {
		c.collect(meta(o)["uid"])
	}
	launchtest.Respond(w, http.StatusOK, o)
}

// collect removes the Secrets of a deleted pod; the lock is held.
func (c *fakeCluster) collect(owner any) {
	for name, o := range maps.Clone(c.objects) {
		owners, _ := meta(o)["ownerReferences"].([]any)
		if len(owners) == 1 && owners[0].(object)["uid"] == owner && strings.HasPrefix(name, "secrets/") {
			c.note("DELETED", "secrets", o)
		}
	}
}
