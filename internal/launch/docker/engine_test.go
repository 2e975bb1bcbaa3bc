package docker_test

import (
	"archive/tar"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"standin/internal/testing/launchtest"

	"github.com/google/uuid"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/api/types/volume"
)

// fakeEngine is a Docker engine for the launcher. Its paths, statuses, messages
// and streams follow the Engine API v1.44; podman_test.go runs the same tests on
// a real engine. The second word of a container's command is its behavior, as in
// testbot.
type fakeEngine struct {
	*launchtest.Server

	mu         sync.Mutex
	containers map[string]*fakeContainer // by name
	volumes    map[string]*volume.Volume // by name
	listeners  map[chan events.Message]string
	images     map[string]bool
	pulls      int
	pulling    func(w http.ResponseWriter) // writes the response to a pull
}

// fakeContainer is a container of a fakeEngine.
type fakeContainer struct {
	id, name string
	request  container.CreateRequest
	state    container.State
	volume   string
	files    map[string]string // in its volume
	log      []byte
}

func newFakeEngine(t *testing.T) *fakeEngine {
	t.Helper()
	e := &fakeEngine{
		containers: make(map[string]*fakeContainer), volumes: make(map[string]*volume.Volume), listeners: make(map[chan events.Message]string),
		images: map[string]bool{image: true},
	}
	e.pulling = func(w http.ResponseWriter) { io.WriteString(w, `{"status":"Pull complete"}`+"\n") }
	versions := http.NewServeMux()
	versions.HandleFunc("/_ping", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Api-Version", "1.44") })
	versions.Handle("/v1.44/", http.StripPrefix("/v1.44", e.routes()))
	e.Server = launchtest.Serve(t, versions)
	return e
}

func (e *fakeEngine) routes() http.Handler {
	routes := http.NewServeMux()
	routes.HandleFunc("POST /containers/create", e.create)
	routes.HandleFunc("GET /containers/json", e.list)
	routes.HandleFunc("GET /containers/{name}/json", e.with(e.inspect))
	routes.HandleFunc("GET /containers/{name}/logs", e.with(e.logs))
	routes.HandleFunc("PUT /containers/{name}/archive", e.with(e.archive))
	routes.HandleFunc("POST /containers/{name}/start", e.with(e.start))
	routes.HandleFunc("POST /containers/{name}/stop", e.with(e.stop))
	routes.HandleFunc("DELETE /containers/{name}", e.with(e.remove))
	routes.HandleFunc("GET /volumes", e.listVolumes)
	routes.HandleFunc("DELETE /volumes/{name}", e.removeVolume)
	routes.HandleFunc("GET /events", e.events)
	routes.HandleFunc("GET /version", func(w http.ResponseWriter, _ *http.Request) {
		launchtest.Respond(w, http.StatusOK, system.VersionResponse{
			Version: "25.0.5", APIVersion: "1.44", MinAPIVersion: "1.24", Os: "linux", Arch: "amd64",
		})
	})
	routes.HandleFunc("GET /images/{name...}", e.image)
	routes.HandleFunc("POST /images/create", e.pull)
	return routes
}

func respondError(w http.ResponseWriter, status int, format string, args ...any) {
	launchtest.Respond(w, status, map[string]string{"message": fmt.Sprintf(format, args...)})
}

// find returns a container by name or id; the lock is held.
func (e *fakeEngine) find(name string) *fakeContainer {
	for _, c := range e.containers {
		if c.name == name || c.id == name {
			return c
		}
	}
	return nil
}

func (e *fakeEngine) with(handle func(http.ResponseWriter, *http.Request, *fakeContainer)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		e.mu.Lock()
		defer e.mu.Unlock()
		c := e.find(r.PathValue("name"))
		if c == nil {
			respondError(w, http.StatusNotFound, "No such container: %s", r.PathValue("name"))
			return
		}
		handle(w, r, c)
	}
}

func (e *fakeEngine) create(w http.ResponseWriter, r *http.Request) {
	var request container.CreateRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		respondError(w, http.StatusBadRequest, "%v", err)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	name := r.URL.Query().Get("name")
	if other := e.containers[name]; other != nil {
		respondError(w, http.StatusConflict, `Conflict. The container name "/%s" is already in use by container "%s". You have to remove (or rename) that container to be able to reuse that name.`, name, other.id)
		return
	}
	if !e.images[request.Image] {
		respondError(w, http.StatusNotFound, "No such image: %s", request.Image)
		return
	}
	c := &fakeContainer{id: uuid.NewString(), name: name, request: request, files: make(map[string]string)}
	c.state.Status = container.StateCreated
	e.containers[name] = c
	for i := range request.HostConfig.Mounts {
		if m := &request.HostConfig.Mounts[i]; m.Type == mount.TypeVolume {
			c.volume = cmp.Or(m.Source, uuid.NewString())
			e.volumes[c.volume] = &volume.Volume{Name: c.volume, Labels: m.VolumeOptions.Labels, CreatedAt: time.Now().Format(time.RFC3339)}
		}
	}
	e.publish(c, events.ActionCreate, nil)
	launchtest.Respond(w, http.StatusCreated, container.CreateResponse{ID: c.id, Warnings: []string{}})
}

// publish sends an event to all listeners; the lock is held.
func (e *fakeEngine) publish(c *fakeContainer, action events.Action, more map[string]string) {
	attributes := maps.Clone(c.request.Labels)
	maps.Copy(attributes, more)
	attributes["name"], attributes["image"] = c.name, c.request.Image
	message := events.Message{
		Type: events.ContainerEventType, Action: action, Scope: "local", Time: time.Now().Unix(), TimeNano: time.Now().UnixNano(),
		Actor: events.Actor{ID: c.id, Attributes: attributes},
	}
	for listener, label := range e.listeners {
		name, value, _ := strings.Cut(label, "=")
		if c.request.Labels[name] == value {
			listener <- message
		}
	}
}

func (e *fakeEngine) archive(w http.ResponseWriter, r *http.Request, c *fakeContainer) {
	target := r.URL.Query().Get("path")
	if c.request.HostConfig.ReadonlyRootfs && !slices.ContainsFunc(c.request.HostConfig.Mounts, func(m mount.Mount) bool {
		return m.Target == target && m.Type == mount.TypeVolume
	}) {
		respondError(w, http.StatusBadRequest, "container rootfs is marked read-only")
		return
	}
	archive := tar.NewReader(r.Body)
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			respondError(w, http.StatusBadRequest, "%v", err)
			return
		}
		content, _ := io.ReadAll(archive)
		c.files[path.Join(target, header.Name)] = fmt.Sprintf("%o %d:%d %s", header.Mode, header.Uid, header.Gid, content)
	}
}

func (e *fakeEngine) start(w http.ResponseWriter, _ *http.Request, c *fakeContainer) {
	if c.state.Running {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	behavior := c.request.Cmd[1]
	if behavior == "unstartable" {
		c.state = container.State{Status: container.StateCreated, ExitCode: 127}
		respondError(w, http.StatusBadRequest, `failed to create task for container: failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: exec: "bot": executable file not found in $PATH: unknown`)
		return
	}
	c.state = container.State{Status: container.StateRunning, Running: true, StartedAt: time.Now().Format(time.RFC3339Nano)}
	c.write(1, "in the meeting as Standin\n")
	e.publish(c, events.ActionStart, nil)
	switch behavior {
	case "finish":
		e.die(c, 0, false)
	case "fail":
		c.write(2, "the browser is missing\n")
		e.die(c, 3, false)
	case "eat":
		e.publish(c, events.ActionOOM, nil)
		e.die(c, 137, true)
	}
	w.WriteHeader(http.StatusNoContent)
}

// write adds a line to a container's log, in the engine's frames.
func (c *fakeContainer) write(stream byte, text string) {
	header := [8]byte{stream}
	binary.BigEndian.PutUint32(header[4:], uint32(len(text)))
	c.log = append(append(c.log, header[:]...), text...)
}

// die ends a container; the lock is held.
func (e *fakeEngine) die(c *fakeContainer, code int, oom bool) {
	c.state.Status, c.state.Running = container.StateExited, false
	c.state.ExitCode, c.state.OOMKilled, c.state.FinishedAt = code, oom, time.Now().Format(time.RFC3339Nano)
	e.publish(c, events.ActionDie, map[string]string{"exitCode": strconv.Itoa(code)})
}

func (e *fakeEngine) stop(w http.ResponseWriter, _ *http.Request, c *fakeContainer) {
	if !c.state.Running {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if c.request.Cmd[1] == "stubborn" {
		e.die(c, 137, false)
	} else {
		e.die(c, 0, false)
	}
	w.WriteHeader(http.StatusNoContent)
}

func (e *fakeEngine) remove(w http.ResponseWriter, r *http.Request, c *fakeContainer) {
	if c.state.Running && r.URL.Query().Get("force") != "1" {
		respondError(w, http.StatusConflict, "cannot remove container: container is running: stop the container before removing or force remove")
		return
	}
	if c.state.Running {
		e.die(c, 137, false)
	}
	delete(e.containers, c.name)
	if r.URL.Query().Get("v") == "1" && c.request.HostConfig.Mounts[0].Source == "" {
		delete(e.volumes, c.volume)
	}
	e.publish(c, events.ActionDestroy, nil)
	w.WriteHeader(http.StatusNoContent)
}

func (e *fakeEngine) inspect(w http.ResponseWriter, _ *http.Request, c *fakeContainer) {
	launchtest.Respond(w, http.StatusOK, container.InspectResponse{
		ID: c.id, Name: "/" + c.name, State: &c.state, Config: c.request.Config, HostConfig: c.request.HostConfig,
	})
}

func (e *fakeEngine) logs(w http.ResponseWriter, _ *http.Request, c *fakeContainer) {
	w.Header().Set("Content-Type", "application/vnd.docker.multiplexed-stream")
	w.Write(c.log)
}

// filter returns the label of a request's filters.
func filter(r *http.Request) string {
	var filters map[string]map[string]bool
	json.Unmarshal([]byte(r.URL.Query().Get("filters")), &filters)
	for label := range filters["label"] {
		return label
	}
	return ""
}

func (e *fakeEngine) listVolumes(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	var filters map[string]map[string]bool
	json.Unmarshal([]byte(r.URL.Query().Get("filters")), &filters)
	found := volume.ListResponse{Volumes: []volume.Volume{}}
	for _, v := range e.volumes {
		matches := true
		for label := range filters["label"] {
			name, value, _ := strings.Cut(label, "=")
			matches = matches && v.Labels[name] == value
		}
		if matches {
			found.Volumes = append(found.Volumes, *v)
		}
	}
	launchtest.Respond(w, http.StatusOK, found)
}

func (e *fakeEngine) removeVolume(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	name := r.PathValue("name")
	for _, c := range e.containers {
		if c.volume == name {
			respondError(w, http.StatusConflict, "remove %s: volume is in use - [%s]", name, c.id)
			return
		}
	}
	if e.volumes[name] == nil {
		respondError(w, http.StatusNotFound, "get %s: no such volume", name)
		return
	}
	delete(e.volumes, name)
	w.WriteHeader(http.StatusNoContent)
}

func (e *fakeEngine) list(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	name, value, _ := strings.Cut(filter(r), "=")
	found := []container.Summary{}
	for _, c := range e.containers {
		if c.request.Labels[name] == value && (c.state.Running || r.URL.Query().Get("all") == "1") {
			found = append(found, container.Summary{ID: c.id, Names: []string{"/" + c.name}, Labels: c.request.Labels, State: c.state.Status})
		}
	}
	launchtest.Respond(w, http.StatusOK, found)
}

func (e *fakeEngine) events(w http.ResponseWriter, r *http.Request) {
	listener := make(chan events.Message, 1000)
	e.mu.Lock()
	e.listeners[listener] = filter(r)
	e.mu.Unlock()
	defer func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		delete(e.listeners, listener)
	}()
	w.Header().Set("Content-Type", "application/json")
	w.(http.Flusher).Flush()
	for {
		select {
		case message := <-listener:
			json.NewEncoder(w).Encode(message)
			w.(http.Flusher).Flush()
		case <-r.Context().Done():
			return
		}
	}
}

func (e *fakeEngine) image(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	name := strings.TrimSuffix(r.PathValue("name"), "/json")
	if !e.images[name] {
		respondError(w, http.StatusNotFound, "No such image: %s", name)
		return
	}
	launchtest.Respond(w, http.StatusOK, map[string]string{"Id": "sha256:1"})
}

func (e *fakeEngine) pull(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	e.pulls++
	pulling := e.pulling
	e.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	pulling(w)
}

// addImage adds an image.
func (e *fakeEngine) addImage(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.images[name] = true
}
